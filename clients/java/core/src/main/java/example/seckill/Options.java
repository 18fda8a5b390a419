package example.seckill;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * Settings for the calls of a sale.
 *
 * @param timeout of one call, including all its attempts and pauses
 * @param attempts most attempts of one call
 * @param onAttempt called after each attempt, or null; its exceptions are ignored
 * @param durable conditions of a durable answer, or null
 * @param charset of ids; ISO_8859_1 keeps every byte of those that are no UTF-8, but takes no others:
 *     make them by {@code new String(bytes, ISO_8859_1)}
 */
public record Options(Duration timeout, int attempts, OnAttempt onAttempt, Durable durable,
        Charset charset) {

    /** 2 seconds, 5 attempts, UTF-8. */
    public static final Options DEFAULT =
            new Options(Duration.ofSeconds(2), 5, null, null, StandardCharsets.UTF_8);

    public Options {
        if (timeout == null || timeout.isNegative() || attempts < 1 || charset == null) {
            throw new IllegalArgumentException("a timeout, at least one attempt, and a charset");
        }
    }

    /** These options with another timeout. */
    public Options withTimeout(Duration other) {
        return new Options(other, attempts, onAttempt, durable, charset);
    }

    /** These options with another number of attempts. */
    public Options withAttempts(int other) {
        return new Options(timeout, other, onAttempt, durable, charset);
    }

    /** These options with a listener for each attempt. */
    public Options withOnAttempt(OnAttempt other) {
        return new Options(timeout, attempts, other, durable, charset);
    }

    /** These options with answers that say whether replicas have the grant. */
    public Options withDurable(Durable other) {
        return new Options(timeout, attempts, onAttempt, other, charset);
    }

    /** These options with another charset. */
    public Options withCharset(Charset other) {
        return new Options(timeout, attempts, onAttempt, durable, other);
    }

    /** Called after each attempt, for metrics and traces. */
    @FunctionalInterface
    public interface OnAttempt {
        /**
         * @param name the command, without SECKILL.
         * @param outcome the first word of the answer or of the error; LOST without a reply
         * @param lost attempts of this call without a reply so far
         * @param ms duration of this attempt
         */
        void told(String name, String outcome, int lost, long ms);
    }

    /**
     * An answer is durable when this many replicas have the grant.
     *
     * @param mark the key of a counter; in a cluster it is in the sale's slot
     * @param replicas number of replicas
     * @param timeout time to wait for replicas, in addition to the call's own
     */
    public record Durable(String mark, int replicas, Duration timeout) {
        public Durable {
            // WAIT with 0 ms never ends.
            if (mark == null || timeout == null || timeout.toMillis() < 1 || replicas < 0) {
                throw new IllegalArgumentException("a mark, a number of replicas and a timeout");
            }
        }
    }
}
