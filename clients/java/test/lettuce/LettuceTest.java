import example.seckill.Answer;
import example.seckill.LettuceLink;
import example.seckill.Options;
import example.seckill.Sale;
import example.seckill.SaleError;
import example.seckill.Unanswered;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.protocol.ProtocolVersion;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Tests of the link with Lettuce over a server that is played, with calls of several threads. */
public final class LettuceTest {
    private static final String GRANTED = "*6\r\n$7\r\nGRANTED\r\n:1\r\n:1\r\n$4\r\nSOLD\r\n:0\r\n:14\r\n";
    private static final Duration LONG = Duration.ofSeconds(30);
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    /** Connections that are made now are never answered. */
    private volatile boolean isDeaf;
    /** Comes when the first WAIT has arrived, and lets it be answered. */
    private final CountDownLatch waits = new CountDownLatch(1);
    private final CountDownLatch release = new CountDownLatch(1);

    private LettuceTest() throws IOException {
        start(() -> {
            while (true) {
                Socket socket = server.accept();
                boolean isSilent = isDeaf;
                start(() -> serve(socket, isSilent));
            }
        });
    }

    public static void main(String[] args) throws Exception {
        aWaitHoldsUpNoOtherCall();
        aServerThatDoesNotAnswerIsConnectedToAgain();
        aWrongPasswordIsAMistake();
        aSeedThatDoesNotAnswerHoldsUpNoCall();
        aSentinelThatDoesNotAnswerIsPassed();
        System.exit(0);
    }

    private static void aWaitHoldsUpNoOtherCall() throws Exception {
        var test = new LettuceTest();
        LettuceLink link = test.link();
        Options options = Options.DEFAULT.withTimeout(LONG);
        var plain = new Sale(link, "sale", options);
        var durable = new Sale(link, "sale", options.withDurable(new Options.Durable("mark", 1, LONG)));
        plain.grab("alice", "o-1");
        var slow = CompletableFuture.supplyAsync(() -> durable.grab("bob", "o-2"));
        test.waits.await();
        is(true, plain.grab("carol", "o-3").won());
        is(true, durable.grab("dave", "o-4").durable());
        is(false, slow.isDone());
        test.release.countDown();
        is(true, slow.get(LONG.toSeconds(), TimeUnit.SECONDS).durable());
    }

    private static void aServerThatDoesNotAnswerIsConnectedToAgain() throws Exception {
        var test = new LettuceTest();
        test.isDeaf = true;
        var sale = new Sale(test.link(), "sale", Options.DEFAULT.withTimeout(Duration.ofMillis(500)));
        long begun = System.nanoTime();
        is(null, answer(sale));
        is(true, System.nanoTime() - begun < TimeUnit.SECONDS.toNanos(2));
        test.isDeaf = false;
        isWonSoon(sale);
    }

    private static void isWonSoon(Sale sale) {
        long begun = System.nanoTime();
        Answer answer = null;
        while (answer == null && System.nanoTime() - begun < LONG.toNanos()) {
            answer = answer(sale);
        }
        is(true, answer != null && answer.won());
    }

    private static void aSentinelThatDoesNotAnswerIsPassed() throws Exception {
        var deaf = new LettuceTest();
        deaf.isDeaf = true;
        var uri = new RedisURI();
        uri.setSentinelMasterId("mymaster");
        uri.getSentinels().addAll(List.of(deaf.uri(""), new LettuceTest().uri("")));
        uri.getSentinels().forEach(sentinel -> sentinel.setTimeout(Duration.ofSeconds(4)));
        isWonSoon(new Sale(link(uri), "sale", Options.DEFAULT.withTimeout(Duration.ofMillis(500))));
    }

    private static void aWrongPasswordIsAMistake() throws Exception {
        var sale = new Sale(link(new LettuceTest().uri(":wrong@")), "sale", Options.DEFAULT.withTimeout(LONG));
        try {
            throw new AssertionError(sale.grab("alice", "o-1").outcome());
        } catch (SaleError expected) {
            is("WRONGPASS", expected.code());
        }
    }

    private static void aSeedThatDoesNotAnswerHoldsUpNoCall() throws Exception {
        var deaf = new LettuceTest();
        deaf.isDeaf = true;
        List<RedisURI> seeds = List.of(deaf.uri(""), new LettuceTest().uri(""));
        var client = RedisClusterClient.create(seeds);
        client.setOptions(ClusterClientOptions.builder().protocolVersion(ProtocolVersion.RESP2).build());
        var sale = new Sale(LettuceLink.of(client, seeds), "sale", Options.DEFAULT.withTimeout(LONG));
        is(true, sale.grab("alice", "o-1").won());
    }

    private static Answer answer(Sale sale) {
        try {
            return sale.grab("alice", "o-1");
        } catch (Unanswered nobody) {
            return null;
        }
    }

    private LettuceLink link() {
        return link(uri(""));
    }

    private RedisURI uri(String login) {
        return RedisURI.create("redis://" + login + "127.0.0.1:" + server.getLocalPort());
    }

    private static LettuceLink link(RedisURI uri) {
        var client = RedisClient.create(uri);
        client.setOptions(ClientOptions.builder().protocolVersion(ProtocolVersion.RESP2).build());
        return LettuceLink.of(client);
    }

    private void serve(Socket socket, boolean isSilent) throws Exception {
        var in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        String name = "";
        String port = String.valueOf(server.getLocalPort());
        for (String line; (line = in.readLine()) != null;) {
            List<String> words = new ArrayList<>();
            for (int count = Integer.parseInt(line.substring(1)); count > 0; count--) {
                in.readLine();
                words.add(in.readLine());
            }
            name = words.contains("SETNAME") ? words.get(2) : name;
            if (words.get(0).equals("WAIT") && waits.getCount() > 0) {
                waits.countDown();
                release.await();
            }
            String reply = words.contains("GETNAME") ? "$" + name.length() + "\r\n" + name + "\r\n"
                    : switch (words.get(0)) {
                        case "SECKILL.GRAB" -> GRANTED;
                        case "INCR", "WAIT" -> ":1\r\n";
                        case "AUTH" -> "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
                        case "SENTINEL" -> "*2\r\n$9\r\n127.0.0.1\r\n$" + port.length() + "\r\n" + port + "\r\n";
                        case "CLUSTER" -> "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:"
                                + port + "\r\n";
                        default -> "+OK\r\n";
                    };
            if (!isSilent) {
                socket.getOutputStream().write(reply.getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private static void start(Work work) {
        var thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception over) {
                // The connection has ended.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static void is(Object expected, Object actual) {
        if (expected == null ? actual != null : !expected.equals(actual)) {
            throw new AssertionError(actual + " instead of " + expected);
        }
    }
}
