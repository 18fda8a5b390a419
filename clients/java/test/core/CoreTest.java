import example.seckill.Answer;
import example.seckill.Link;
import example.seckill.Options;
import example.seckill.Orders;
import example.seckill.Sale;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Tests of the core over a link without a server. */
public final class CoreTest {
    private CoreTest() {}

    /** Answers each command with the same reply, and counts the calls. */
    private static final class Canned implements Link {
        private final Object reply;
        private int calls;

        Canned(Object reply) {
            this.reply = reply;
        }

        @Override
        public List<Object> send(byte[] key, List<byte[][]> commands, Duration within) {
            calls++;
            List<Object> replies = new ArrayList<>(List.of(reply));
            // INCR and WAIT.
            commands.stream().skip(1).forEach(command -> replies.add(1L));
            return replies;
        }
    }

    public static void main(String[] args) {
        charactersThatTheCharsetLacksAreMistakes();
        aFenceIsNotDurable();
        aWaitWithoutEndIsAMistake();
        aForeignEntryComesWithoutEvent();
        System.exit(0);
    }

    private static void charactersThatTheCharsetLacksAreMistakes() {
        var link = new Canned(List.of("SOLDOUT", 0L));
        var latin = new Sale(link, "sale", Options.DEFAULT.withCharset(StandardCharsets.ISO_8859_1));
        isMistake("a user", () -> latin.grab("\u65e5\u672c", "o-1"));
        isMistake("a REQ", () -> latin.grab("alice", "\u8a02\u55ae"));
        isMistake("a part's user", () -> Sale.home("sale", 16, "\u65e5\u672c", StandardCharsets.ISO_8859_1));
        isMistake("half a character", () -> new Sale(link, "sale").grab("\ud800", "o-1"));
        isMistake("a reader's name", () -> latin.orders("orders", "g", "\u65e5\u672c"));
        is("sent", 0, link.calls);
        latin.grab("\u00e9\u00ff", "o-1");
        new Sale(link, "sale").grab("\u65e5\u672c", "o-1");
        is("sent", 2, link.calls);
    }

    private static void aFenceIsNotDurable() {
        var options = Options.DEFAULT.withDurable(new Options.Durable("mark", 1, Duration.ofSeconds(1)));
        for (long seq : new long[] {0, 1}) {
            var sale = new Sale(new Canned(List.of("CANCELLED", seq, 1L, 0L)), "sale", options);
            Answer answer = sale.cancel("alice", "o-1");
            is("durable of number " + seq, seq == 0 ? null : true, answer.durable());
        }
    }

    private static void aWaitWithoutEndIsAMistake() {
        isMistake("0 ms", () -> new Options.Durable("mark", 1, Duration.ZERO));
        isMistake("less than 1 ms", () -> new Options.Durable("mark", 1, Duration.ofNanos(1)));
    }

    private static void aForeignEntryComesWithoutEvent() {
        var event = List.of("event", "GRANT", "sale", "sale", "data", "{\"rev\":2}");
        var bad = List.of("event", "GRANT", "sale", "sale", "data", "{\"rev\\u");
        var reply = List.of(List.of("orders", List.of(List.of("1-0", List.of("hello", "world")),
                List.of("2-0", bad), List.of("3-0", event))));
        Orders orders = new Sale(new Canned(reply), "sale").orders("orders", "g", "w");
        for (String id : List.of("1-0", "2-0", "3-0")) {
            Orders.Order order = orders.next();
            is("id", id, order.id());
            is("event of " + id, id.equals("3-0") ? "GRANT" : null,
                    order.event() == null ? null : order.event().event());
        }
    }

    private static void isMistake(String what, Runnable call) {
        try {
            call.run();
        } catch (IllegalArgumentException expected) {
            return;
        }
        throw new AssertionError(what + " is accepted");
    }

    private static void is(String what, Object expected, Object actual) {
        if (expected == null ? actual != null : !expected.equals(actual)) {
            throw new AssertionError(what + ": " + actual + " instead of " + expected);
        }
    }
}
