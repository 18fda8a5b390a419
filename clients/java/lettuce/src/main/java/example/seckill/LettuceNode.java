package example.seckill;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * Connections to one server: one that all calls share, and more for calls that the server may keep
 * waiting. It answers a connection's commands one after the other, so each of those calls has a
 * connection of its own.
 */
final class LettuceNode {
    private static final int IDLE_MAX = 8;
    /** After this time another connect is begun: the server may have been replaced. */
    static final Duration CONNECT = Duration.ofSeconds(2);
    private final Supplier<CompletableFuture<StatefulConnection<byte[], byte[]>>> connect;
    private final boolean resends;
    private final Set<Wire> wires = new HashSet<>();
    private final Deque<Wire> idle = new ArrayDeque<>();
    private Wire shared;

    /** `resends`: whether the connections resend commands without a reply after a reconnect. */
    LettuceNode(Supplier<CompletableFuture<StatefulConnection<byte[], byte[]>>> connect, boolean resends) {
        this.connect = connect;
        this.resends = resends;
    }

    /** A connection, perhaps a pending one. */
    private static final class Wire {
        private final CompletableFuture<StatefulConnection<byte[], byte[]>> connection = new CompletableFuture<>();
        /** Time of the last connect. */
        private long begun;
        /** Time of the last complete reply. */
        private volatile long answered = System.nanoTime();
        /** Number of calls that use it now. */
        private int calls;
        private boolean isOver;

        /**
         * Connects, perhaps once more. The first connection counts: an old connect may still come, as after a
         * Sentinel without an answer, for which Lettuce waits long.
         */
        void connect(CompletableFuture<StatefulConnection<byte[], byte[]>> connect) {
            begun = System.nanoTime();
            connect.whenComplete((made, failed) -> {
                if (failed != null) {
                    connection.completeExceptionally(failed);
                } else if (!connection.complete(made)) {
                    made.closeAsync();
                }
            });
        }
    }

    /** A reply of any type. Lettuce returns lists for all of them, with one element for a single word. */
    private static final class Output extends NestedMultiOutput<byte[], byte[]> {
        private boolean isList;

        Output() {
            super(ByteArrayCodec.INSTANCE);
        }

        @Override
        public void multi(int count) {
            isList = true;
            super.multi(count);
        }

        Object reply() {
            return isList ? get() : get().isEmpty() ? null : get().get(0);
        }
    }

    private record Keyword(byte[] getBytes, String name) implements ProtocolKeyword {}

    /** Sends the commands over one connection. `ends` is a time of {@link System#nanoTime}. */
    List<Object> exchange(List<byte[][]> commands, long ends) throws Exception {
        boolean isOwn = commands.size() > 1 || new String(commands.get(0)[0]).equals("XREADGROUP");
        Wire wire = take(isOwn);
        long begun = System.nanoTime();
        // Late replies may still come over a connection of its own.
        boolean keeps = !isOwn;
        try {
            var to = connected(wire, ends);
            boolean mayMove = resends && commands.size() > 1;
            List<Object> replies = mayMove ? named(to, commands, ends) : send(to, commands, ends);
            wire.answered = System.nanoTime();
            keeps = true;
            return replies;
        } catch (TimeoutException slow) {
            // A connect continues after its attempt. If other calls got replies meanwhile, only this
            // call is slow. Otherwise the connection is closed: Lettuce would keep a hanging one for
            // minutes, as after the loss of a host.
            keeps = !wire.connection.isDone() || !isOwn && wire.answered - begun >= 0;
            throw slow;
        } catch (ExecutionException failed) {
            keeps = resends && !isOwn;
            throw failed;
        } finally {
            giveBack(wire, isOwn, keeps);
        }
    }

    /** Closes the connections, those in use after the calls that use them. */
    synchronized void drop() {
        shared = null;
        idle.clear();
        for (Wire wire : List.copyOf(wires)) {
            wire.isOver = true;
            if (wire.calls == 0) {
                close(wire);
            }
        }
    }

    private synchronized Wire take(boolean isOwn) {
        Wire wire = isOwn ? idle.poll() : shared;
        while (wire != null && !isUsable(wire)) {
            close(wire);
            wire = isOwn ? idle.poll() : null;
        }
        boolean isNew = wire == null;
        wire = isNew ? new Wire() : wire;
        if (isNew || !wire.connection.isDone() && System.nanoTime() - wire.begun >= CONNECT.toNanos()) {
            wire.connect(connect.get());
        }
        wires.add(wire);
        shared = isOwn ? shared : wire;
        wire.calls++;
        return wire;
    }

    private boolean isUsable(Wire wire) {
        return !wire.connection.isDone()
                || !wire.connection.isCompletedExceptionally() && (resends || wire.connection.join().isOpen());
    }

    private synchronized void giveBack(Wire wire, boolean isOwn, boolean keeps) {
        wire.calls--;
        boolean isFull = isOwn && idle.size() >= IDLE_MAX;
        if (!keeps || isFull || wire.isOver && wire.calls == 0) {
            shared = shared == wire ? null : shared;
            close(wire);
        } else if (isOwn) {
            idle.push(wire);
        }
    }

    private static StatefulConnection<byte[], byte[]> connected(Wire wire, long ends) throws Exception {
        try {
            return wire.connection.get(left(ends), TimeUnit.NANOSECONDS);
        } catch (ExecutionException failed) {
            // The server's own error, such as WRONGPASS, is one of the causes.
            for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
                if (cause instanceof RedisCommandExecutionException refused) {
                    throw new Link.ServerError(refused.getMessage());
                }
            }
            throw failed;
        }
    }

    private void close(Wire wire) {
        wires.remove(wire);
        wire.connection.thenAccept(StatefulConnection::closeAsync);
    }

    /**
     * WAIT covers only the writes of its own connection, but Lettuce resends commands without a reply over a
     * new one. So the commands are sent between a CLIENT SETNAME and a check of that name.
     */
    private static List<Object> named(StatefulConnection<byte[], byte[]> to, List<byte[][]> commands, long ends)
            throws Exception {
        byte[] name = UUID.randomUUID().toString().getBytes();
        List<byte[][]> named = new ArrayList<>(commands);
        named.add(0, new byte[][] {"CLIENT".getBytes(), "SETNAME".getBytes(), name});
        named.add(new byte[][] {"CLIENT".getBytes(), "GETNAME".getBytes()});
        List<Object> replies = send(to, named, ends);
        Object last = replies.get(named.size() - 1);
        if (last instanceof Link.ServerError refused) {
            return List.of(refused);
        }
        if (!Arrays.equals(name, (byte[]) last)) {
            throw new IOException("Lettuce has connected anew in between");
        }
        return replies.subList(1, named.size() - 1);
    }

    private static List<Object> send(StatefulConnection<byte[], byte[]> to, List<byte[][]> commands, long ends)
            throws Exception {
        List<AsyncCommand<byte[], byte[], List<Object>>> sent = new ArrayList<>();
        List<Object> replies = new ArrayList<>();
        try {
            for (byte[][] words : commands) {
                sent.add(dispatch(to, words));
            }
            for (var command : sent) {
                replies.add(reply(command, ends));
            }
        } finally {
            // A command that still waits for a connection must not be sent later.
            sent.forEach(command -> command.cancel(true));
        }
        return replies;
    }

    private static AsyncCommand<byte[], byte[], List<Object>> dispatch(
            StatefulConnection<byte[], byte[]> to, byte[]... words) {
        var args = new CommandArgs<>(ByteArrayCodec.INSTANCE);
        for (byte[] word : Arrays.copyOfRange(words, 1, words.length)) {
            args.add(word);
        }
        var keyword = new Keyword(words[0], new String(words[0]));
        var command = new AsyncCommand<>(new Command<>(keyword, new Output(), args));
        to.dispatch(command);
        return command;
    }

    private static Object reply(AsyncCommand<byte[], byte[], ?> command, long ends) throws Exception {
        try {
            command.get(left(ends), TimeUnit.NANOSECONDS);
            return ((Output) command.getOutput()).reply();
        } catch (ExecutionException error) {
            if (error.getCause() instanceof RedisCommandExecutionException refused) {
                return new Link.ServerError(refused.getMessage());
            }
            throw error;
        }
    }

    private static long left(long ends) {
        return Math.max(1, ends - System.nanoTime());
    }
}
