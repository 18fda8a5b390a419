import example.seckill.LettuceLink;
import example.seckill.Link;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.protocol.ProtocolVersion;
import java.time.Duration;
import java.util.List;

/** Links with Lettuce. */
public final class LettuceLinks {
    private LettuceLinks() {}

    public static Link make(int port, int resp, String on) throws Exception {
        Link link = link(port, resp, on);
        // The first call starts Netty, which must not count for a test.
        var type = new byte[][] {"TYPE".getBytes(), "k".getBytes()};
        link.send(type[1], List.<byte[][]>of(type), Duration.ofSeconds(20));
        return link;
    }

    private static Link link(int port, int resp, String on) {
        var uri = on.equals("sentinel") ? RedisURI.Builder.sentinel("127.0.0.1", port, "mymaster").build()
                : RedisURI.create("127.0.0.1", port);
        var protocol = resp == 3 ? ProtocolVersion.RESP3 : ProtocolVersion.RESP2;
        if (on.equals("cluster")) {
            var client = RedisClusterClient.create(uri);
            client.setOptions(ClusterClientOptions.builder().protocolVersion(protocol).build());
            return LettuceLink.of(client, List.of(uri));
        }
        var client = RedisClient.create(uri);
        client.setOptions(ClientOptions.builder().protocolVersion(protocol).build());
        return LettuceLink.of(client);
    }
}
