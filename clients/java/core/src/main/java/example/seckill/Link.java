package example.seckill;

import java.time.Duration;
import java.util.List;

/**
 * Sends commands to the server that has a key. There are links for Jedis, Lettuce, Spring and
 * Redisson; one for another client has a few dozen lines.
 */
public interface Link {
    /**
     * Sends these commands over one connection to the server that has the key, and returns one reply
     * for each: a Long, a byte[] or String, a List of these, a Map or a List of its entries, or null;
     * for an error of the server a {@link ServerError}.
     *
     * @param within time that the caller waits; a client with timeouts should use this one
     * @throws ServerError if the server refused the connection, so that nothing was sent
     * @throws Exception if there is no complete reply
     */
    List<Object> send(byte[] key, List<byte[][]> commands, Duration within) throws Exception;

    /** Closes the connections. Called when their server is no longer the primary. */
    default void drop() {}

    /** Closes at least the connection of the last attempt. Called when it had no complete reply. */
    default void lost() {
        drop();
    }

    /** Whether keys of different slots are on different servers. */
    default boolean isCluster() {
        return false;
    }

    /** Whether WAIT can be sent over the connection of earlier commands. */
    default boolean canWait() {
        return true;
    }

    /**
     * Whether send may take longer than `within`. Then it runs on another thread, so that its caller
     * can continue in time.
     */
    default boolean mayBlock() {
        return true;
    }

    /** An error that the server replied. */
    @SuppressWarnings("serial")
    final class ServerError extends RuntimeException {
        /** The whole text, beginning with the code. */
        public ServerError(String text) {
            super(text, null, false, false);
        }

        /** The first word. */
        public String code() {
            return String.valueOf(getMessage()).split(" ", 2)[0];
        }
    }
}
