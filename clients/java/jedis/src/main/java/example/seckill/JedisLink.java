package example.seckill;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.IntStream;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/** A link with Jedis 5 to 7: a pool for a single server or Sentinel, or a cluster. Threads may share it. */
public final class JedisLink implements Link {
    private final Function<byte[], Borrowed> borrow;
    private final Runnable clear;
    private final JedisCluster cluster;
    /** Number of calls of `drop`. */
    private final AtomicInteger drops = new AtomicInteger();

    private JedisLink(Function<byte[], Borrowed> borrow, Runnable clear, JedisCluster cluster) {
        this.borrow = borrow;
        this.clear = clear;
        this.cluster = cluster;
    }

    /** A connection, and the function that returns it to its pool. */
    private record Borrowed(Connection connection, Runnable giveBack) implements AutoCloseable {
        @Override
        public void close() {
            giveBack.run();
        }
    }

    private static Borrowed of(Connection connection) {
        return new Borrowed(connection, connection::close);
    }

    /** A single server, or an address that always leads to the primary. */
    public static JedisLink of(JedisPooled client) {
        return new JedisLink(key -> of(client.getPool().getResource()), client.getPool()::clear, null);
    }

    /** A JedisPool, or a JedisSentinelPool. */
    public static JedisLink of(Pool<Jedis> pool) {
        return new JedisLink(key -> {
            Jedis jedis = pool.getResource();
            return new Borrowed(jedis.getConnection(), jedis::close);
        }, pool::clear, null);
    }

    /** A cluster. */
    public static JedisLink of(JedisCluster client) {
        Runnable clear = () -> client.getClusterNodes().values().forEach(Pool::clear);
        return new JedisLink(key -> of(client.getConnectionFromSlot(Slot.of(key))), clear, client);
    }

    @Override
    public List<Object> send(byte[] key, List<byte[][]> commands, Duration within) throws Exception {
        int before = drops.get();
        if (cluster == null) {
            return exchange(borrow.apply(key), before, false, commands, within);
        }
        return Redirects.follow((host, port, asking) -> {
            ConnectionPool node = cluster.getClusterNodes().get(host + ":" + port);
            Borrowed from = node == null ? borrow.apply(key) : of(node.getResource());
            return exchange(from, before, asking, commands, within);
        }, () -> renewMap(key));
    }

    /** Renews the slot map: Jedis does so when it gets MOVED in one of its own calls. */
    private void renewMap(byte[] key) {
        try {
            cluster.type(key);
        } catch (JedisException later) {
            // The next call gets MOVED again.
        }
    }

    private List<Object> exchange(Borrowed from, int dropsBefore, boolean asking, List<byte[][]> commands,
            Duration within) {
        try (Borrowed borrowed = from) {
            Connection connection = borrowed.connection();
            int before = connection.getSoTimeout();
            connection.setSoTimeout((int) Math.max(1, within.toMillis()));
            for (byte[][] words : commands) {
                if (asking) {
                    connection.sendCommand(Protocol.Command.ASKING);
                }
                connection.sendCommand(() -> words[0], Arrays.copyOfRange(words, 1, words.length));
            }
            int each = asking ? 2 : 1;
            List<Object> replies = connection.getMany(commands.size() * each);
            connection.setSoTimeout(before);
            if (drops.get() != dropsBefore) {
                // This connection was in use when `drop` closed the others: the pool must not reuse
                // it.
                connection.setBroken();
            }
            return IntStream.range(0, commands.size()).mapToObj(at -> replies.get(at * each + each - 1))
                    .map(reply -> reply instanceof JedisDataException error
                            ? new ServerError(error.getMessage()) : reply)
                    .toList();
        }
    }

    @Override
    public void drop() {
        drops.incrementAndGet();
        clear.run();
    }

    @Override
    public boolean isCluster() {
        return cluster != null;
    }
}
