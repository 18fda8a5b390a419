package example.seckill;

import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Follows MOVED and ASK in a cluster. Clients that follow redirections themselves also retry lost
 * calls without reporting it.
 */
final class Redirects {
    private static final int MOST = 5;

    private Redirects() {}

    /** One attempt at a node. */
    interface Exchange {
        /**
         * @param host of the node; null for the key's owner in the client's slot map
         * @param asking whether ASKING goes before each command
         */
        List<Object> at(String host, int port, boolean asking) throws Exception;
    }

    /** `moved` gets the key's new owner, as host:port. */
    static List<Object> follow(Exchange exchange, Consumer<String> moved) throws Exception {
        List<Object> replies = exchange.at(null, 0, false);
        for (int made = 0; made < MOST; made++) {
            Link.ServerError redirect = in(replies);
            if (redirect == null) {
                break;
            }
            boolean asking = redirect.code().equals("ASK");
            // MOVED 3999 10.0.0.1:6379
            String address = redirect.getMessage().split(" ")[2];
            if (!asking) {
                moved.accept(address);
            }
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
