package example.seckill;

import java.time.Duration;
import java.util.List;

/**
 * A way to the server that has a key: a function from words to a reply. There are adapters for
 * Jedis, Lettuce, Spring and Redisson; one for another client has a few dozen lines.
 */
public interface Link {
    /**
     * Sends these commands over one connection to the server that has the key, and returns one reply
     * for each: a Long, a byte[] or String, a List of these, a Map or a List of its entries, or null;
     * for an error of the server a {@link ServerError}.
     *
     * @param within for how long the caller waits: a client that can be told so should give up then
     * @throws Exception when there is no whole reply
     */
    List<Object> send(byte[] key, List<byte[][]> commands, Duration within) throws Exception;

    /** Closes the connections: their server is no longer the primary. */
    default void drop() {}

    /** An attempt had no whole reply; its own connection at least is not to be used again. */
    default void lost() {
        drop();
    }

    /** Whether keys of different slots are on different servers. */
    default boolean isCluster() {
        return false;
    }

    /** Whether WAIT can be sent, on the connection of the commands before it. */
    default boolean canWait() {
        return true;
    }

    /**
     * Whether send may take longer than it is told. Then it runs on a thread of its own, so that its
     * caller can go on in time.
     */
    default boolean mayBlock() {
        return true;
    }

    /** An error that the server replied. */
    @SuppressWarnings("serial")
    final class ServerError extends RuntimeException {
        /** The whole text, its code first. */
        public ServerError(String text) {
            super(text, null, false, false);
        }

        /** The first word. */
        public String code() {
            return String.valueOf(getMessage()).split(" ", 2)[0];
        }
    }
}
