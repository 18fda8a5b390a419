package example.seckill;

import java.util.List;
import java.util.Set;

/**
 * Follows MOVED and ASK in a cluster. A client that follows them itself also repeats a call that was
 * lost, and does not tell.
 */
final class Redirects {
    private static final int MOST = 5;

    private Redirects() {}

    /** One attempt at a node. */
    interface Exchange {
        /**
         * @param host of the node; null for the one that the client's map has for the key
         * @param asking whether ASKING goes before each command
         */
        List<Object> at(String host, int port, boolean asking) throws Exception;
    }

    /** `moved`: what is done when the map is old. */
    static List<Object> follow(Exchange exchange, Runnable moved) throws Exception {
        List<Object> replies = exchange.at(null, 0, false);
        for (int made = 0; made < MOST; made++) {
            Link.ServerError redirect = in(replies);
            if (redirect == null) {
                break;
            }
            boolean asking = redirect.code().equals("ASK");
            if (!asking) {
                moved.run();
            }
            // MOVED 3999 10.0.0.1:6379
            String address = redirect.getMessage().split(" ")[2];
            int colon = address.lastIndexOf(':');
            int port = Integer.parseInt(address.substring(colon + 1));
            replies = exchange.at(address.substring(0, colon), port, asking);
        }
        return replies;
    }

    private static Link.ServerError in(List<Object> replies) {
        for (Object reply : replies) {
            if (reply instanceof Link.ServerError error && Set.of("MOVED", "ASK").contains(error.code())) {
                return error;
            }
        }
        return null;
    }
}
