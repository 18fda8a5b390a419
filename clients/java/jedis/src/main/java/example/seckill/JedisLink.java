package example.seckill;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisMovedDataException;
import redis.clients.jedis.util.Pool;

/** Over Jedis 5 to 7: a pool of a single server or of Sentinel, or a cluster. Threads may share it. */
public final class JedisLink implements Link {
    private static final int REDIRECTS = 5;
    private final Function<byte[], Borrowed> borrow;
    private final Runnable clear;
    private final JedisCluster cluster;

    private JedisLink(Function<byte[], Borrowed> borrow, Runnable clear, JedisCluster cluster) {
        this.borrow = borrow;
        this.clear = clear;
        this.cluster = cluster;
    }

    /** A connection, and how it goes back to where it is from. */
    private record Borrowed(Connection connection, Runnable giveBack) implements AutoCloseable {
        @Override
        public void close() {
            giveBack.run();
        }
    }

    private static Borrowed of(Connection connection) {
        return new Borrowed(connection, connection::close);
    }

    /** A single server, or an address that leads to whichever is the primary. */
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
    public List<Object> send(byte[] key, List<byte[][]> commands, Duration within) {
        if (cluster != null && commands.size() == 1) {
            // Jedis follows MOVED and ASK for single commands.
            return Collections.singletonList(follow(key, commands.get(0)));
        }
        List<Object> replies = exchange(key, commands, within);
        for (int at = 0; cluster != null && at < REDIRECTS && isMoved(replies); at++) {
            follow(key, new byte[][] {"TYPE".getBytes(), key});
            replies = exchange(key, commands, within);
        }
        return replies.stream().map(JedisLink::plain).toList();
    }

    private Object follow(byte[] key, byte[][] words) {
        try {
            byte[][] rest = Arrays.copyOfRange(words, 1, words.length);
            return plain(cluster.sendCommand(key, () -> words[0], rest));
        } catch (JedisDataException error) {
            return plain(error);
        }
    }

    private static boolean isMoved(List<Object> replies) {
        return replies.stream().anyMatch(JedisMovedDataException.class::isInstance);
    }

    private List<Object> exchange(byte[] key, List<byte[][]> commands, Duration within) {
        try (Borrowed borrowed = borrow.apply(key)) {
            Connection connection = borrowed.connection();
            int before = connection.getSoTimeout();
            connection.setSoTimeout((int) Math.max(1, within.toMillis()));
            for (byte[][] words : commands) {
                connection.sendCommand(() -> words[0], Arrays.copyOfRange(words, 1, words.length));
            }
            List<Object> replies = connection.getMany(commands.size());
            connection.setSoTimeout(before);
            return replies;
        }
    }

    @Override
    public void drop() {
        clear.run();
    }

    @Override
    public boolean isCluster() {
        return cluster != null;
    }

    /** Errors are values, and RESP3's maps, which Jedis has as pairs, are maps. */
    private static Object plain(Object reply) {
        if (reply instanceof JedisDataException error) {
            return new ServerError(error.getMessage());
        }
        if (!(reply instanceof List<?> list)) {
            return reply;
        }
        if (!list.isEmpty() && list.stream().allMatch(Map.Entry.class::isInstance)) {
            Map<Object, Object> map = new LinkedHashMap<>();
            list.forEach(pair -> map.put(((Map.Entry<?, ?>) pair).getKey(),
                    plain(((Map.Entry<?, ?>) pair).getValue())));
            return map;
        }
        List<Object> all = new ArrayList<>();
        list.forEach(item -> all.add(plain(item)));
        return all;
    }
}
