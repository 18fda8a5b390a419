package example.seckill;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * A link with Lettuce 6 and 7: a single server, Sentinel or a cluster, over one connection that threads
 * may share. WAIT blocks all calls on the connection, so durable sales need a link of their own.
 */
public final class LettuceLink implements Link {
    private final Supplier<StatefulConnection<byte[], byte[]>> connect;
    private final RedisClusterClient cluster;
    /** Time of the last complete reply, by {@link System#nanoTime}. */
    private volatile long answered = System.nanoTime();
    private CompletableFuture<StatefulConnection<byte[], byte[]>> connection;

    private LettuceLink(Supplier<StatefulConnection<byte[], byte[]>> connect, RedisClusterClient cluster) {
        this.connect = connect;
        this.cluster = cluster;
    }

    /** A single server, or Sentinel if the client has a Sentinel's address. */
    public static LettuceLink of(RedisClient client) {
        return new LettuceLink(() -> client.connect(ByteArrayCodec.INSTANCE), null);
    }

    /** A cluster. */
    public static LettuceLink of(RedisClusterClient client) {
        return new LettuceLink(() -> client.connect(ByteArrayCodec.INSTANCE), client);
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

    @Override
    public List<Object> send(byte[] key, List<byte[][]> commands, Duration within) throws Exception {
        long begun = System.nanoTime();
        StatefulConnection<byte[], byte[]> all = connection().get(within.toNanos(), TimeUnit.NANOSECONDS);
        try {
            List<Object> replies = send(all, key, commands, begun + within.toNanos());
            answered = System.nanoTime();
            return replies;
        } catch (TimeoutException slow) {
            // If other calls got replies meanwhile, only this call is slow. Otherwise the connection is
            // closed: Lettuce would keep a hanging one for minutes, as after the loss of a host.
            if (answered - begun < 0) {
                drop();
            }
            throw slow;
        }
    }

    private List<Object> send(StatefulConnection<byte[], byte[]> all, byte[] key,
            List<byte[][]> commands, long ends) throws Exception {
        if (!(all instanceof StatefulRedisClusterConnection<byte[], byte[]> nodes)) {
            return exchange(all, commands, false, ends);
        }
        return Redirects.follow((host, port, asking) -> exchange(
                host == null ? node(nodes, key) : nodes.getConnection(host, port), commands, asking, ends),
                address -> cluster.refreshPartitions());
    }

    private static StatefulConnection<byte[], byte[]> node(
            StatefulRedisClusterConnection<byte[], byte[]> nodes, byte[] key) {
        RedisURI uri = nodes.getPartitions().getPartitionBySlot(SlotHash.getSlot(key)).getUri();
        return nodes.getConnection(uri.getHost(), uri.getPort());
    }

    /**
     * WAIT covers only the writes of its own connection, but Lettuce resends commands without a reply over a
     * new one. So several commands are sent between a CLIENT SETNAME and a check of that name.
     */
    private static List<Object> exchange(StatefulConnection<byte[], byte[]> to, List<byte[][]> commands,
            boolean asking, long ends) throws Exception {
        if (commands.size() == 1) {
            return send(to, commands, asking, ends);
        }
        byte[] name = UUID.randomUUID().toString().getBytes();
        List<byte[][]> named = new ArrayList<>(commands);
        named.add(0, new byte[][] {"CLIENT".getBytes(), "SETNAME".getBytes(), name});
        named.add(new byte[][] {"CLIENT".getBytes(), "GETNAME".getBytes()});
        List<Object> replies = send(to, named, asking, ends);
        Object last = replies.get(named.size() - 1);
        if (last instanceof ServerError refused) {
            return List.of(refused);
        }
        if (!Arrays.equals(name, (byte[]) last)) {
            throw new IOException("Lettuce has connected anew in between");
        }
        return replies.subList(1, named.size() - 1);
    }

    private static List<Object> send(StatefulConnection<byte[], byte[]> to, List<byte[][]> commands,
            boolean asking, long ends) throws Exception {
        List<AsyncCommand<byte[], byte[], List<Object>>> sent = new ArrayList<>();
        // Commands of other threads come before or after all of these.
        synchronized (to) {
            for (byte[][] words : commands) {
                if (asking) {
                    dispatch(to, "ASKING".getBytes());
                }
                sent.add(dispatch(to, words));
            }
        }
        List<Object> replies = new ArrayList<>();
        try {
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
            command.get(Math.max(1, ends - System.nanoTime()), TimeUnit.NANOSECONDS);
            return ((Output) command.getOutput()).reply();
        } catch (ExecutionException error) {
            if (error.getCause() instanceof RedisCommandExecutionException refused) {
                return new ServerError(refused.getMessage());
            }
            throw error;
        }
    }

    /** The connection, or a pending connect, which continues after the timeout of its attempt. */
    private synchronized CompletableFuture<StatefulConnection<byte[], byte[]>> connection() {
        if (connection == null || connection.isCompletedExceptionally()) {
            connection = CompletableFuture.supplyAsync(connect);
        }
        return connection;
    }

    @Override
    public synchronized void drop() {
        if (connection != null) {
            connection.thenAccept(StatefulConnection::closeAsync);
            connection = null;
        }
    }

    @Override
    public boolean mayBlock() {
        return false;
    }

    /** Keeps the connection: if it was closed, Lettuce reconnects by itself. */
    @Override
    public void lost() {}

    @Override
    public boolean isCluster() {
        return cluster != null;
    }
}
