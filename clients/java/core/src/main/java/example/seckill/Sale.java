package example.seckill;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/**
 * One sale of seckill, a Redis and Valkey module for flash sales. A call returns an answer, won or
 * not. {@link SaleError}: the server refused the call and changed nothing. {@link Unanswered}: the
 * outcome is unknown, so send the call again with its REQ, which never takes units twice.
 * IllegalArgumentException: an argument is wrong, and nothing was sent.
 *
 * <p>Threads may share a sale if they may share its link.
 */
public final class Sale {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int PAGE = 1000;
    private final Link link;
    private final String key;
    private final Options options;

    /** The sale at this key, with default options. */
    public Sale(Link link, String key) {
        this(link, key, Options.DEFAULT);
    }

    /** The sale at this key. */
    public Sale(Link link, String key, Options options) {
        this.link = given(link, "link");
        this.key = given(key, "key");
        this.options = given(options, "options");
        Options.Durable durable = options.durable();
        if (durable != null && !link.canWait()) {
            throw new IllegalArgumentException("over this client WAIT can't be sent: no durable");
        }
        if (durable != null && link.isCluster()
                && Slot.of(bytes(durable.mark())) != Slot.of(bytes(key))) {
            throw new IllegalArgumentException("in a cluster the mark must be in the sale's slot");
        }
    }

    /** A part of a split sale, with its key. */
    public record Home(int part, String key) {}

    /** The user's part of a split sale. */
    public static Home home(String name, int parts, String user) {
        return home(name, parts, user, StandardCharsets.UTF_8);
    }

    /** The user's part, for an id in another charset. */
    public static Home home(String name, int parts, String user, Charset charset) {
        if (parts < 1) {
            throw new IllegalArgumentException("parts must be above 0");
        }
        var crc = new CRC32();
        crc.update(Reply.bytes(given(user, "user"), charset));
        long part = crc.getValue() % parts;
        return new Home((int) part, given(name, "name") + ":{p" + part + "}");
    }

    /** Asks for one unit. If req is empty or null, a new one is made for all attempts. */
    public Answer grab(String user, String req) {
        return grab(user, req, Units.ONE);
    }

    /** Asks for units. */
    public Answer grab(String user, String req, Units units) {
        return change("GRAB", user, orNew(req), given(units, "units").words());
    }

    /** Grabs, or joins the waiting list if nothing is left: until untilMs (Unix ms), or without
     * a limit if it is null. */
    public Answer wait(String user, String req, long qty, Long untilMs) {
        List<Object> more = new ArrayList<>(Units.qty(qty).words());
        more.add("WAIT");
        more.addAll(untilMs == null ? List.of() : List.of("UNTIL", untilMs));
        return change("GRAB", user, orNew(req), more);
    }

    /** The user's place on the waiting list; null if the user is not on it. */
    public Place place(String user) {
        return read("PLACE", reply -> {
            List<?> words = Reply.list(reply);
            String word = Reply.text(Reply.at(words, 0), options.charset());
            if ("NONE".equals(word)) {
                return null;
            }
            Reply.at(words, "WAITING".equals(word) ? 3 : words.size());
            return new Place(Reply.number(words.get(1)), Reply.number(words.get(2)),
                    Reply.number(words.get(3)));
        }, given(user, "user"));
    }

    /** Marks a grant as paid. Here and below an empty or null req means the user's only grant. */
    public Answer confirm(String user, String req) {
        return change("CONFIRM", user, req, List.of());
    }

    /** Confirms `keep` units of the grant and returns the others. */
    public Answer confirm(String user, String req, long keep) {
        return change("CONFIRM", user, req, List.of("KEEP", keep));
    }

    /** Confirms these numbers of the grant, in a sale with NUMBERED, and returns the others. */
    public Answer confirm(String user, String req, long[] keep) {
        return change("CONFIRM", user, req, these(keep));
    }

    /** Confirms, and takes an expired hold again if units are free; needs a req. */
    public Answer reclaim(String user, String req) {
        return change("CONFIRM", user, req, List.of("RECLAIM"));
    }

    /** Returns a hold, leaves the waiting list, or sets a fence for a req. */
    public Answer cancel(String user, String req) {
        return change("CANCEL", user, req, List.of());
    }

    /** Returns all but `keep` units of a hold, whose deadline stays. */
    public Answer cancel(String user, String req, long keep) {
        return change("CANCEL", user, req, List.of("KEEP", keep));
    }

    /** Returns all but these numbers of a hold, in a sale with NUMBERED. */
    public Answer cancel(String user, String req, long[] keep) {
        return change("CANCEL", user, req, these(keep));
    }

    /** Moves the deadline of a hold to at least this many ms from now. */
    public Answer extend(String user, long ms, String req) {
        return change("EXTEND", user, req, List.of(ms));
    }

    /** Returns sold units. */
    public Answer refund(String user, String req) {
        return change("REFUND", user, req, List.of());
    }

    /** Returns all but this many units of a sold grant. */
    public Answer refund(String user, String req, long keep) {
        return change("REFUND", user, req, List.of("KEEP", keep));
    }

    /** Returns all but these numbers of a sold grant, in a sale with NUMBERED. */
    public Answer refund(String user, String req, long[] keep) {
        return change("REFUND", user, req, these(keep));
    }

    /**
     * Units of this sale and of others in its slot: all, or none.
     *
     * @param qty empty, one number for all sales, or one for each sale, beginning with this one
     */
    public MultiAnswer mgrab(String user, List<String> others, String req, long... qty) {
        List<Object> words = new ArrayList<>();
        words.addAll(List.of("SECKILL.MGRAB", given(user, "user"), others.size() + 1, key));
        words.addAll(others);
        if (qty.length > 0 && !(qty.length == 1 && qty[0] == 1)) {
            words.add("QTY");
            Arrays.stream(qty).forEach(words::add);
        }
        return change("MGRAB", orNew(req), words, new Kind<>(MultiAnswer::of, MultiAnswer::outcome,
                answer -> answer.refusal() == null, MultiAnswer::isSame, MultiAnswer::told));
    }

    /** A character for each number from the first (1) on: '.' free, 'h' held, 's' sold. */
    public String units(long first, int count) {
        return read("UNITS", reply -> Reply.text(reply, options.charset()), first, "COUNT", count);
    }

    /** The grant that has this number; null if none has. */
    public Row unit(long unit) {
        return read("UNIT", reply -> reply == null ? null : Row.of(reply, options.charset()), unit);
    }

    /** The user's grants, and the units that the user may still have. */
    public User user(String user) {
        return read("USER", reply -> {
            List<?> words = Reply.list(reply);
            Reply.at(words, 2);
            return new User(Reply.number(words.get(0)), Reply.text(words.get(1), options.charset()),
                    Row.all(words.get(2), options.charset()));
        }, given(user, "user"));
    }

    /** The JSON object of STATUS: numbers are Long, counters a Map. */
    public Map<String, Object> status() {
        return read("STATUS", reply -> Json.object(Reply.text(reply, options.charset())), "JSON");
    }

    /** All grants that are HELD or SOLD. */
    public Stream<Row> winners() {
        return winners("LIVE", 0);
    }

    /**
     * Grants in the order of their numbers, read page by page.
     *
     * @param state LIVE, ALL or a state
     * @param after the last number of an earlier listing, or 0
     */
    public Stream<Row> winners(String state, long after) {
        return Stream.iterate(page(given(state, "state"), after), Objects::nonNull,
                page -> page.next() == 0 ? null : page(state, page.next()))
                .flatMap(page -> page.rows().stream());
    }

    /** Entries of the outbox for a worker: the reader `name` of `group`. */
    public Orders orders(String stream, String group, String name) {
        return new Orders(link, options.charset(), stream, group, name);
    }

    private record Page(long next, List<Row> rows) {}

    private Page page(String state, long after) {
        return read("WINNERS", reply -> {
            List<?> words = Reply.list(reply);
            Reply.at(words, 1);
            return new Page(Reply.number(words.get(0)), Row.all(words.get(1), options.charset()));
        }, after, "COUNT", PAGE, "STATE", state);
    }

    private <T> T read(String name, Function<Object, T> read, Object... more) {
        List<Object> words = new ArrayList<>(List.of("SECKILL." + name, key));
        words.addAll(List.of(more));
        var call = call(name, "", Duration.ZERO, List.of(words));
        return Attempts.ask(link, options, call, ends(), null, read, told -> "OK").value();
    }

    /** The reader of one kind of answer, and its properties. */
    private record Kind<T>(BiFunction<Object, Charset, T> of, Function<T, String> word,
            Function<T, Boolean> hasGrant, BiFunction<T, T, Boolean> isSame, Teller<T> told) {}

    private interface Teller<T> {
        T told(T answer, String req, int lost, Boolean durable);
    }

    private static final Kind<Answer> ONE = new Kind<>(Answer::of,
            answer -> answer.outcome().name(),
            Answer::hasGrant, Answer::isSame, Answer::told);

    private static List<Object> these(long[] keep) {
        List<Object> words = new ArrayList<>(List.of("KEEP"));
        words.addAll(Units.exactly(given(keep, "keep")).words());
        return words;
    }

    private Answer change(String name, String user, String req, List<Object> more) {
        List<Object> words = new ArrayList<>(List.of("SECKILL." + name, key, given(user, "user")));
        words.addAll(more);
        return change(name, req == null ? "" : req, words, ONE);
    }

    private <T> T change(String name, String req, List<Object> words, Kind<T> kind) {
        words.addAll(req.isEmpty() ? List.of() : List.of("REQ", req));
        long ends = ends();
        Function<Object, T> read = reply -> kind.of().apply(reply, options.charset());
        var call = call(name, req, Duration.ZERO, List.of(words));
        var first = Attempts.ask(link, options, call, ends, null, read, kind.word());
        T told = first.value();
        Options.Durable durable = options.durable();
        if (durable == null || !kind.hasGrant().apply(told)) {
            return kind.told().told(told, req, first.lost(), null);
        }
        // The repeated call shows that this server has the grant, and the INCR comes after it, so
        // the WAIT covers both. (After a REPLAY, which writes nothing, a WAIT alone would not wait.)
        call = call(name, req, durable.timeout(), List.of(words, List.of("INCR", durable.mark()),
                List.of("WAIT", durable.replicas(), durable.timeout().toMillis())));
        var again = Attempts.ask(link, options, call, ends, first, read, kind.word());
        Boolean isKept = Reply.number(again.replies().get(2)) >= durable.replicas();
        told = kind.isSame().apply(told, again.value()) ? told : again.value();
        isKept = kind.hasGrant().apply(told) ? isKept : null;
        return kind.told().told(told, req, again.lost(), isKept);
    }

    private Attempts.Call call(String name, String req, Duration block, List<List<Object>> all) {
        List<byte[][]> commands = all.stream().map(words -> words.stream()
                .map(word -> bytes(word.toString())).toArray(byte[][]::new)).toList();
        return new Attempts.Call(name, bytes(key), req, commands, block);
    }

    private long ends() {
        return System.nanoTime() + options.timeout().toNanos();
    }

    private byte[] bytes(String word) {
        return Reply.bytes(word, options.charset());
    }

    private static String orNew(String req) {
        if (req != null && !req.isEmpty()) {
            return req;
        }
        byte[] random = new byte[16];
        RANDOM.nextBytes(random);
        return HexFormat.of().formatHex(random);
    }

    private static <T> T given(T value, String name) {
        if (value == null) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return value;
    }
}
