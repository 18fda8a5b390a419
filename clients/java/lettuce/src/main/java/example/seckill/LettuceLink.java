package example.seckill;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.models.partitions.Partitions;
import io.lettuce.core.codec.ByteArrayCodec;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * A link with Lettuce 6 and 7: a single server, Sentinel or a cluster, over connections of its own.
 * Threads may share it.
 */
public final class LettuceLink implements Link {
    /** For a single server or Sentinel the application's, for a cluster one of its own. */
    private final RedisClient client;
    /** The application's; null if this is no cluster. */
    private final RedisClusterClient clusterClient;
    /** Of the cluster, as the application gave them. */
    private final List<RedisURI> seeds;
    private final Cluster cluster = new Cluster(this::known,
            (address, key, commands, ends) -> node(address).exchange(commands, ends));
    /** By host:port; a single server by an empty text. */
    private final Map<String, LettuceNode> nodes = new ConcurrentHashMap<>();
    /** The nodes of the cluster, as the application's client knows them. */
    private CompletableFuture<Partitions> partitions;

    private LettuceLink(RedisClient client, RedisClusterClient clusterClient, Collection<RedisURI> seeds) {
        this.client = client;
        this.clusterClient = clusterClient;
        this.seeds = List.copyOf(seeds);
    }

    /** A single server, or Sentinel if the client has a Sentinel's address. */
    public static LettuceLink of(RedisClient client) {
        return new LettuceLink(client, null, List.of());
    }

    /** A cluster, by the nodes that Lettuce finds first. It asks all seeds, and a minute those that hang. */
    public static LettuceLink of(RedisClusterClient client) {
        return of(client, List.of());
    }

    /**
     * A cluster. The connections have the client's resources and options, but Lettuce's own way through
     * a cluster is not used: it finds no replica that has taken over while its old primary hangs.
     *
     * @param seeds those that the client was made with
     */
    public static LettuceLink of(RedisClusterClient client, Collection<RedisURI> seeds) {
        RedisClient own = RedisClient.create(client.getResources());
        own.setOptions(client.getOptions().mutate().autoReconnect(false)
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build()).build());
        return new LettuceLink(own, client, seeds);
    }

    @Override
    public List<Object> send(byte[] key, List<byte[][]> commands, Duration within) throws Exception {
        long ends = System.nanoTime() + within.toNanos();
        return isCluster() ? cluster.send(key, commands, ends) : node("").exchange(commands, ends);
    }

    private LettuceNode node(String address) {
        return nodes.computeIfAbsent(address, at -> isCluster()
                ? new LettuceNode(() -> client.connectAsync(ByteArrayCodec.INSTANCE, uri(at))
                        .<StatefulConnection<byte[], byte[]>>thenApply(made -> made).toCompletableFuture(), false)
                // Lettuce asks Sentinel only in this way, which blocks.
                : new LettuceNode(() -> CompletableFuture.supplyAsync(
                        () -> client.connect(ByteArrayCodec.INSTANCE), Attempts.THREADS), true));
    }

    /** The address of a node, with what it takes to log in there. */
    private RedisURI uri(String address) {
        int colon = address.lastIndexOf(':');
        RedisURI like = seeds.isEmpty() ? partitions().join().iterator().next().getUri() : seeds.get(0);
        return RedisURI.builder(like)
                .withHost(address.substring(0, colon)).withPort(Integer.parseInt(address.substring(colon + 1)))
                .withTimeout(LettuceNode.CONNECT).build();
    }

    private Collection<String> known(long ends) throws Exception {
        Set<String> all = new HashSet<>(nodes.keySet());
        seeds.forEach(seed -> all.add(address(seed)));
        CompletableFuture<Partitions> lettuce = partitions();
        if (seeds.isEmpty()) {
            lettuce.get(Math.max(1, ends - System.nanoTime()), TimeUnit.NANOSECONDS);
        }
        if (lettuce.isDone() && !lettuce.isCompletedExceptionally()) {
            lettuce.join().forEach(node -> all.add(address(node.getUri())));
        }
        return all;
    }

    private static String address(RedisURI uri) {
        return uri.getHost() + ":" + uri.getPort();
    }

    /** Lettuce connects for it the first time, which blocks. */
    private synchronized CompletableFuture<Partitions> partitions() {
        if (partitions == null || partitions.isCompletedExceptionally()) {
            partitions = CompletableFuture.supplyAsync(clusterClient::getPartitions, Attempts.THREADS);
        }
        return partitions;
    }

    @Override
    public void drop() {
        cluster.forget();
        nodes.values().forEach(LettuceNode::drop);
    }

    @Override
    public boolean mayBlock() {
        return false;
    }

    /** Keeps the connections: a node closes those that are no longer good. */
    @Override
    public void lost() {
        cluster.forget();
    }

    @Override
    public boolean isCluster() {
        return clusterClient != null;
    }
}
