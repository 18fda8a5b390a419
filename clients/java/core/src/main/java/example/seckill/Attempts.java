package example.seckill;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/** The attempts of one call: decides which replies are final and which are retried. */
final class Attempts {
    /** Codes of a server that is not the primary, or not ready yet. */
    private static final Set<String> ELSEWHERE =
            Set.of("READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN");
    /** A server without a free connection says this to a new one, and executes nothing. */
    private static final String FULL = "ERR max number of clients";
    /** After this error nobody knows what was executed. */
    private static final String UNSURE = "ERR internal error";
    static final Duration PAUSE = Duration.ofMillis(50);
    static final ExecutorService THREADS = Executors.newCachedThreadPool(work -> {
        var thread = new Thread(work, "seckill");
        thread.setDaemon(true);
        return thread;
    });

    private Attempts() {}

    /** An answer, all replies of its attempt, and the number of attempts without a reply. */
    record Told<T>(T value, List<Object> replies, int lost) {}

    /** A call to send. `block`: time that the server blocks in each attempt. */
    record Call(String name, byte[] key, String req, List<byte[][]> commands, Duration block) {}

    /**
     * Retries the call until there is an answer. `read` makes it from a reply, or throws
     * IllegalArgumentException. `before`: an earlier answer to this call, or null.
     */
    static <T> Told<T> ask(Link link, Options options, Call call, long ends, Told<T> before,
            Function<Object, T> read, Function<T, String> word) {
        int lost = before == null ? 0 : before.lost();
        Exception why = new TimeoutException("no time was left");
        for (int made = 0; made < options.attempts(); made++) {
            long pause = PAUSE.toNanos() * made;
            if (ends - System.nanoTime() <= pause || !sleep(pause)) {
                break;
            }
            long begun = System.nanoTime();
            long left = Math.max(ends - begun, 1);
            long within = made + 1 == options.attempts() ? left : left / 2;
            String outcome;
            try {
                List<Object> replies = send(link, call, Duration.ofNanos(within).plus(call.block()));
                T value = read.apply(replies.get(0));
                tell(options, call, word.apply(value), lost, begun);
                return new Told<>(value, replies, lost);
            } catch (Link.ServerError error) {
                outcome = error.code();
                why = error;
            } catch (Exception error) {
                // The late reply must not be read as the reply to another call.
                link.lost();
                outcome = "LOST";
                why = error;
                lost++;
            }
            tell(options, call, outcome, lost, begun);
            if (why instanceof Link.ServerError error && isMistake(link, error)) {
                // The error says nothing about earlier attempts.
                throw lost > 0 || before != null
                        ? new Unanswered(call.req(), lost, error)
                        : new SaleError(error);
            }
        }
        throw new Unanswered(call.req(), lost, why);
    }

    static boolean isMistake(Link link, Link.ServerError error) {
        boolean passes = error.getMessage().startsWith(FULL) || error.getMessage().startsWith(UNSURE);
        return Tables.MISTAKES.contains(error.code()) && !passes
                || !link.isCluster() && Set.of("MOVED", "ASK").contains(error.code());
    }

    /** Sends the call once. Throws the first error among the replies. */
    static List<Object> send(Link link, Call call, Duration within) throws Exception {
        Callable<List<Object>> work = () -> link.send(call.key(), call.commands(), within);
        List<Object> replies;
        try {
            replies = link.mayBlock() ? inTime(work, within) : work.call();
        } catch (Link.ServerError refused) {
            // Of a connection, or of the question who has the key: the call was not sent.
            replies = List.of(refused);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            throw stopped;
        }
        for (Object reply : replies) {
            if (reply instanceof Link.ServerError error) {
                if (ELSEWHERE.contains(error.code()) || error.getMessage().startsWith(FULL)) {
                    link.drop();
                }
                throw error;
            }
        }
        return replies;
    }

    private static <T> T inTime(Callable<T> work, Duration within) throws Exception {
        Future<T> future = THREADS.submit(work);
        try {
            return future.get(within.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof Exception error ? error : failed;
        } finally {
            future.cancel(true);
        }
    }

    /** False if this thread was interrupted. */
    static boolean sleep(long nanos) {
        try {
            TimeUnit.NANOSECONDS.sleep(nanos);
            return true;
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static void tell(Options options, Call call, String outcome, int lost, long begun) {
        if (options.onAttempt() == null) {
            return;
        }
        try {
            long ms = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
            options.onAttempt().told(call.name(), outcome, lost, ms);
        } catch (RuntimeException ignored) {
            // A failing listener must not make the call fail.
        }
    }
}
