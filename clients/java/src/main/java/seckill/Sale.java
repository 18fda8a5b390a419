package seckill;

import com.google.gson.*;
import java.nio.charset.Charset;
import java.util.*;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import redis.clients.jedis.*;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Buys from one sale of seckill, a Redis module for flash sales, with Jedis. An answer is a value,
 * won or not. SaleError: nothing has happened. Unanswered: nobody knows, so ask again with its req,
 * which never takes twice. Durable may be null; ISO_8859_1 keeps every id. See docs/clients.md.
 */
@SuppressWarnings("serial")
public record Sale(UnifiedJedis client, String key, Durable durable, Charset charset) {
    public enum Outcome { GRANTED, ALREADY, REPLAY, OVERLIMIT, SOLDOUT, SHORT, NOTOPEN, CLOSED,
        PAUSED, DENIED, BUSY, WAITING }
    public enum State { HELD, SOLD, CANCELLED, EXPIRED, REFUNDED, NOGRANT }
    /** Only GRAB has an outcome, refusals have no state; the numbers that there are of seq, qty,
     *  deadline, available, held, allowance, opensIn. After lost attempts a refusal is not the end:
     *  one of them may still arrive, so cancel. */
    public record Answer(String req, Outcome outcome, State state, Map<String, Long> numbers,
            int lost, Boolean durable) {
        public boolean won() { return state == State.HELD || state == State.SOLD; }
    }

    public record Row(long seq, String user, long qty, State state, long at, long deadline,
            String req, long epoch, long round) {}
    /** An allowance of -1 is no limit; admission is OK, DENIED or BUSY. */
    public record User(long allowance, String admission, List<Row> grants) {}
    /** An entry of the outbox. What came twice is known by the id, epoch and rev in its data. */
    public record Event(String event, String sale, JsonObject data, String user, String req,
            String outbox, String split) {}
    public record Home(int part, String key) {}
    /** Answers say whether so many replicas have it; the mark is a counter on the sale's node. */
    public record Durable(String mark, int replicas, int timeoutMs) {}

    /** The server refused the call and nothing has happened; code is the error's first word. */
    public static final class SaleError extends RuntimeException {
        public final String code;
        SaleError(String word, Throwable why) { super(why.getMessage(), why); code = word; }
    }

    /** Nobody knows whether it happened; the same call with this req tells and never repeats it. */
    public static final class Unanswered extends RuntimeException {
        public final String req;
        Unanswered(String kept, Throwable why) {
            super("ask again with the same REQ: " + why.getMessage(), why);
            req = kept;
        }
    }

    private record Told<T>(T value, List<Object> replies, int lost) {}
    private record Page(long next, List<Row> rows) {}
    private static final String GRANT = "seq qty state deadline";
    private static final Map<String, String> NUMBERS = Map.of("GRANTED", GRANT + " available",
            "ALREADY", GRANT, "REPLAY", GRANT, "OVERLIMIT", "allowance", "SOLDOUT", "held",
            "SHORT", "available", "NOTOPEN", "opensIn");
    /** Errors that come however often one asks. Others pass, and may hide what was granted. */
    private static final List<String> MISTAKES = List.of("ERR", "WRONGTYPE", "NOSALE",
            "REQMISMATCH", "AMBIGUOUS", "WRONGPART", "NOPERM", "NOAUTH");
    private static final int ATTEMPTS = 5;

    /** Asks for units. The req is the order's, or made before the first call and kept. */
    public Answer grab(String user, String req, long qty) {
        // One is what GRAB takes by itself, and a sale that draws amounts takes no other word.
        return qty == 1 ? change("GRAB", user, req) : change("GRAB", user, req, "QTY", qty);
    }
    public Answer grabUpTo(String user, String req, long most) {
        return change("GRAB", user, req, "UPTO", most);
    }

    /** Here and below req may be null where the user has one grant only. */
    public Answer confirm(String user, String req, boolean reclaim) {
        return reclaim ? change("CONFIRM", user, req, "RECLAIM") : change("CONFIRM", user, req);
    }
    public Answer cancel(String user, String req) { return change("CANCEL", user, req); }
    public Answer extend(String user, long ms, String r) { return change("EXTEND", user, r, ms); }

    public JsonObject status() {
        return ask("", r -> json(text(r)), 0, List.of("SECKILL.STATUS", key, "JSON")).value();
    }
    public User user(String user) {
        return ask("", r -> new User(number(r, 0), text(at(r, 1)), rows(at(r, 2))), 0,
                List.of("SECKILL.USER", key, user)).value();
    }

    /** Page by page; state may be LIVE and ALL, too, after is the last seq of an earlier export. */
    public Stream<Row> winners(String state, long after) {
        return Stream.iterate(page(state, after), Objects::nonNull,
                page -> page.next() == 0 ? null : page(state, page.next()))
                .flatMap(page -> page.rows().stream());
    }

    public static Event decode(Map<String, String> told) {
        return new Event(told.get("event"), told.get("sale"), json(told.get("data")),
                told.get("user"), told.get("req"), told.get("outbox"), told.get("split"));
    }

    /** The part of a split sale that is this user's, and its key. */
    public static Home home(String name, int parts, String user, Charset charset) {
        var crc = new CRC32();
        crc.update(user.getBytes(charset));
        long part = crc.getValue() % parts;
        return new Home((int) part, name + ":{p" + part + "}");
    }

    private Page page(String state, long after) {
        return ask("", r -> new Page(number(r, 0), rows(at(r, 1))), 0,
                List.of("SECKILL.WINNERS", key, after, "COUNT", 1000, "STATE", state)).value();
    }

    private Answer change(String name, String user, String req, Object... more) {
        List<Object> command = new ArrayList<>(List.of("SECKILL." + name, key, user));
        command.addAll(List.of(more));
        command.addAll(req == null ? List.of() : List.of("REQ", req));
        Told<Answer> first = ask(req, this::answer, 0, command);
        Answer told = first.value();
        Boolean kept = null;
        if (durable != null && told.state() != null && told.state() != State.NOGRANT) {
            // The repeated call shows that this server has the grant, and the INCR comes after it,
            // so the WAIT is for both. (Alone behind a REPLAY it would wait for nothing.)
            Told<Answer> again = ask(req, this::answer, 1, command, List.of("INCR", durable.mark()),
                    List.of("WAIT", durable.replicas(), durable.timeoutMs()));
            kept = number(again.replies(), 2) >= durable.replicas();
            boolean isSame = again.value().state() == told.state()
                    && again.value().numbers().get("seq").equals(told.numbers().get("seq"));
            told = isSame ? told : again.value();
        }
        return new Answer(req, told.outcome(), told.state(), told.numbers(), first.lost(), kept);
    }

    /** Until there is an answer. An error after a lost attempt says nothing of that attempt. */
    @SafeVarargs
    private <T> Told<T> ask(String req, Function<Object, T> read, int before, List<Object>... all) {
        RuntimeException why = null;
        for (int lost = before; lost < before + ATTEMPTS; lost++) {
            LockSupport.parkNanos(50_000_000L * (lost - before));
            try {
                List<Object> replies = send(all);
                return new Told<>(read.apply(replies.get(0)), replies, lost);
            } catch (RuntimeException error) {
                String code = String.valueOf(error.getMessage()).split(" ", 2)[0];
                if (error instanceof JedisDataException && MISTAKES.contains(code)) {
                    throw lost > 0 ? new Unanswered(req, error) : new SaleError(code, error);
                }
                why = error;
            }
        }
        throw new Unanswered(req, why);
    }

    /** All over one connection. */
    @SafeVarargs
    private List<Object> send(List<Object>... commands) {
        List<Response<Object>> replies = new ArrayList<>();
        try (var pipe = client.pipelined()) {
            for (List<Object> words : commands) {
                byte[][] raw = words.stream().map(word -> String.valueOf(word).getBytes(charset))
                        .toArray(byte[][]::new);
                replies.add(pipe.sendCommand(() -> raw[0], Arrays.copyOfRange(raw, 1, raw.length)));
            }
            pipe.sync();
        }
        return replies.stream().map(Response::get).toList();
    }

    private Answer answer(Object reply) {
        String word = text(at(reply, 0));
        boolean isHold = Stream.of(State.values()).anyMatch(state -> state.name().equals(word));
        State state = null;
        int place = 0;
        Map<String, Long> numbers = new HashMap<>();
        String names = isHold ? "state seq qty deadline" : "outcome " + NUMBERS.getOrDefault(word, "");
        for (String name : names.split(" ")) {
            if (name.equals("state")) {
                state = State.valueOf(text(at(reply, place)));
            } else if (place > 0) {
                numbers.put(name, number(reply, place));
            }
            place++;
        }
        return new Answer("", isHold ? null : Outcome.valueOf(word), state, numbers, 0, null);
    }

    private List<Row> rows(Object reply) {
        return ((List<?>) reply).stream().map(r -> new Row(number(r, 0), text(at(r, 1)),
                number(r, 2), State.valueOf(text(at(r, 3))), number(r, 4), number(r, 5),
                at(r, 6) == null ? null : text(at(r, 6)), number(r, 7), number(r, 8))).toList();
    }

    private static JsonObject json(String t) { return JsonParser.parseString(t).getAsJsonObject(); }
    private static Object at(Object reply, int place) { return ((List<?>) reply).get(place); }
    private static long number(Object reply, int place) { return (Long) at(reply, place); }
    private String text(Object value) { return new String((byte[]) value, charset); }
}
