package example.seckill;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.Pool;

/** A link with Jedis 5 to 7: a pool for a single server or Sentinel, or a cluster. Threads may share it. */
public final class JedisLink implements Link {
    /** Of a single server. */
    private final Supplier<Borrowed> borrow;
    private final Runnable clear;
    /** Null if this is no cluster. */
    private final JedisCluster client;
    private final Cluster cluster = new Cluster(ends -> known(),
            (address, key, commands, ends) -> exchange(() -> of(node(address, key).getResource()), commands, ends));
    /** Number of calls of `drop`. */
    private final AtomicInteger drops = new AtomicInteger();

    private JedisLink(Supplier<Borrowed> borrow, Runnable clear, JedisCluster client) {
        this.borrow = borrow;
        this.clear = clear;
        this.client = client;
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
        return new JedisLink(() -> of(client.getPool().getResource()), client.getPool()::clear, null);
    }

    /** A JedisPool, or a JedisSentinelPool. */
    public static JedisLink of(Pool<Jedis> pool) {
        return new JedisLink(() -> {
            Jedis jedis = pool.getResource();
            return new Borrowed(jedis.getConnection(), jedis::close);
        }, pool::clear, null);
    }

    /** A cluster. */
    public static JedisLink of(JedisCluster client) {
        return new JedisLink(null, () -> client.getClusterNodes().values().forEach(Pool::clear), client);
    }

    @Override
    public List<Object> send(byte[] key, List<byte[][]> commands, Duration within) throws Exception {
        long ends = System.nanoTime() + within.toNanos();
        return isCluster() ? cluster.send(key, commands, ends) : exchange(borrow, commands, ends);
    }

    private Set<String> known() {
        return client.getClusterNodes().keySet();
    }

    private ConnectionPool node(String address, byte[] key) {
        ConnectionPool node = client.getClusterNodes().get(address);
        if (node == null) {
            // Jedis gets to know a node when it follows MOVED or ASK for a call of its own.
            client.type(key);
            node = client.getClusterNodes().get(address);
        }
        if (node == null) {
            throw new JedisConnectionException("the cluster has sent this call to an unknown node: " + address);
        }
        return node;
    }

    private static Borrowed borrow(Supplier<Borrowed> from) {
        try {
            return from.get();
        } catch (JedisDataException refused) {
            // The server's, such as WRONGPASS: the call was not sent.
            throw new ServerError(refused.getMessage());
        }
    }

    private List<Object> exchange(Supplier<Borrowed> from, List<byte[][]> commands, long ends)
            throws TimeoutException {
        int dropsBefore = drops.get();
        try (Borrowed borrowed = borrow(from)) {
            long left = ends - System.nanoTime();
            if (left <= 0) {
                // Nobody waits for the reply now, and the caller may have sent another call meanwhile.
                throw new TimeoutException("no connection in time");
            }
            Connection connection = borrowed.connection();
            int before = connection.getSoTimeout();
            connection.setSoTimeout((int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(left)));
            for (byte[][] words : commands) {
                connection.sendCommand(() -> words[0], Arrays.copyOfRange(words, 1, words.length));
            }
            List<Object> replies = connection.getMany(commands.size());
            connection.setSoTimeout(before);
            if (drops.get() != dropsBefore) {
                // This connection was in use when `drop` closed the others: the pool must not reuse
                // it.
                connection.setBroken();
            }
            return replies.stream().map(reply -> reply instanceof JedisDataException error
                    ? new ServerError(error.getMessage()) : reply).toList();
        }
    }

    @Override
    public void drop() {
        drops.incrementAndGet();
        cluster.forget();
        clear.run();
    }

    @Override
    public boolean isCluster() {
        return client != null;
    }
}
