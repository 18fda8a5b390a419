package example.seckill;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.IntStream;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;
import redis.clients.jedis.util.SafeEncoder;

/** A link with Jedis 5 to 7: a pool for a single server or Sentinel, or a cluster. Threads may share it. */
public final class JedisLink implements Link {
    private final Function<byte[], Borrowed> borrow;
    private final Runnable clear;
    private final JedisCluster cluster;
    /**
     * Owners of slots, as host:port, that a node has named. Jedis makes its own map anew only for its own
     * calls.
     */
    private final Map<Integer, String> owners = new ConcurrentHashMap<>();
    /** Held while a thread asks for an owner. */
    private final ReentrantLock asks = new ReentrantLock();
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
        int slot = Slot.of(key);
        List<Object> replies;
        try {
            replies = Redirects.follow((host, port, asking) -> {
                Borrowed from = of(host == null ? owner(slot) : node(host + ":" + port, key).getResource());
                return exchange(from, before, asking, commands, within);
            }, address -> owners.put(slot, address));
        } catch (JedisConnectionException gone) {
            askForOwner(slot);
            throw gone;
        }
        if (replies.stream().anyMatch(JedisLink::isFromElsewhere)) {
            askForOwner(slot);
        }
        return replies;
    }

    private static boolean isFromElsewhere(Object reply) {
        return reply instanceof ServerError error
                && Set.of("READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN").contains(error.code());
    }

    private Connection owner(int slot) {
        String address = owners.get(slot);
        ConnectionPool node = address == null ? null : cluster.getClusterNodes().get(address);
        return node == null ? cluster.getConnectionFromSlot(slot) : node.getResource();
    }

    private ConnectionPool node(String address, byte[] key) {
        ConnectionPool node = cluster.getClusterNodes().get(address);
        if (node == null) {
            // Jedis gets to know a node when it follows MOVED or ASK for a call of its own.
            cluster.type(key);
            node = cluster.getClusterNodes().get(address);
        }
        if (node == null) {
            throw new JedisConnectionException("the cluster has sent this call to an unknown node: " + address);
        }
        return node;
    }

    /**
     * Asks the nodes who has a slot, until one answers: its owner may be dead, and a replica may have taken
     * over. One thread at a time.
     */
    private void askForOwner(int slot) {
        if (!asks.tryLock()) {
            return;
        }
        try {
            for (ConnectionPool node : cluster.getClusterNodes().values()) {
                try (Connection connection = node.getResource()) {
                    connection.sendCommand(Protocol.Command.CLUSTER, "SLOTS");
                    remember(slot, (List<?>) connection.getOne());
                    return;
                } catch (JedisException next) {
                    // Another node may know.
                }
            }
        } finally {
            asks.unlock();
        }
    }

    /** Finds the owner in the reply to CLUSTER SLOTS: rows of first slot, last slot, owner, replicas. */
    private void remember(int slot, List<?> rows) {
        for (Object row : rows) {
            List<?> cells = (List<?>) row;
            List<?> owner = (List<?>) cells.get(2);
            boolean isIn = (Long) cells.get(0) <= slot && slot <= (Long) cells.get(1);
            if (isIn && owner.get(0) instanceof byte[] host && host.length > 0) {
                owners.put(slot, SafeEncoder.encode(host) + ":" + owner.get(1));
            }
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
