package example.seckill;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;

/** Tests of the way through a cluster, over nodes that are played. */
public final class ClusterTest {
    private static final byte[] KEY = "sale".getBytes();
    private static final Object ASK = new Link.ServerError("ASK 7 :2");
    private static final Object MOVED = new Link.ServerError("MOVED 7 ::1:3");
    private final List<String> sent = new ArrayList<>();

    private ClusterTest() {}

    public static void main(String[] args) throws Exception {
        anAddressWithoutHostIsOnTheNodeThatNamedIt();
        for (int times = 0; times < 20; times++) {
            aNodeThatDoesNotAnswerIsAskedLast();
        }
    }

    private static void anAddressWithoutHostIsOnTheNodeThatNamedIt() throws Exception {
        var test = new ClusterTest();
        Cluster cluster = test.cluster(List.of("a:1"), Map.of(
                "a:1 CLUSTER", slots("", 1), "a:1 GRAB", ASK, "a:2 ASKING", "OK", "a:2 GRAB", MOVED, "::1:3 GRAB", 5L));
        is(List.of(5L), test.grab(cluster));
        is(List.of("a:1 CLUSTER", "a:1 GRAB", "a:2 ASKING", "a:2 GRAB", "::1:3 GRAB"), test.sent);
        test.sent.clear();
        is(List.of(5L), test.grab(cluster));
        is(List.of("::1:3 GRAB"), test.sent);
    }

    private static void aNodeThatDoesNotAnswerIsAskedLast() throws Exception {
        var test = new ClusterTest();
        Cluster cluster = test.cluster(List.of("a:1", "b:1"), Map.of(
                "a:1 CLUSTER", slots("a", 1), "b:1 CLUSTER", slots("a", 1)));
        try {
            test.grab(cluster);
            throw new AssertionError("nobody answers");
        } catch (TimeoutException expected) {
            test.sent.clear();
        }
        cluster.forget();
        try {
            test.grab(cluster);
        } catch (TimeoutException expected) {
            is(List.of("b:1 CLUSTER", "a:1 GRAB"), test.sent);
        }
    }

    private static Object slots(String host, long port) {
        return List.of(List.of(0L, 16383L, List.of(host.getBytes(), port, "id".getBytes())));
    }

    /** `replies`: by address and command; a command that has none is not answered. */
    private Cluster cluster(List<String> nodes, Map<String, Object> replies) {
        return new Cluster(ends -> nodes, (address, key, commands, ends) -> {
            List<Object> all = new ArrayList<>();
            for (byte[][] words : commands) {
                String call = address + " " + new String(words[0]);
                sent.add(call);
                if (!replies.containsKey(call)) {
                    throw new TimeoutException(call);
                }
                all.add(replies.get(call));
            }
            return all;
        });
    }

    private List<Object> grab(Cluster cluster) throws Exception {
        var grab = new byte[][] {"GRAB".getBytes(), KEY};
        return cluster.send(KEY, List.<byte[][]>of(grab), System.nanoTime() + 1_000_000_000L);
    }

    private static void is(Object expected, Object actual) {
        if (!expected.equals(actual)) {
            throw new AssertionError(actual + " instead of " + expected);
        }
    }
}
