import example.seckill.JedisLink;
import example.seckill.Link;
import java.util.Set;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.JedisSentinelPool;
import redis.clients.jedis.RedisProtocol;

/** Links with Jedis. */
public final class JedisLinks {
    private JedisLinks() {}

    public static Link make(int port, int resp, String on) {
        var protocol = resp == 3 ? RedisProtocol.RESP3 : RedisProtocol.RESP2;
        var config = DefaultJedisClientConfig.builder().protocol(protocol).build();
        var place = new HostAndPort("127.0.0.1", port);
        return switch (on) {
            case "cluster" -> JedisLink.of(new JedisCluster(Set.of(place), config));
            case "sentinel" -> JedisLink.of(new JedisSentinelPool("mymaster", Set.of(place), config,
                    DefaultJedisClientConfig.builder().build()));
            default -> JedisLink.of(new JedisPooled(place, config));
        };
    }
}
