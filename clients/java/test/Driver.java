import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import example.seckill.Answer;
import example.seckill.Event;
import example.seckill.Link;
import example.seckill.MultiAnswer;
import example.seckill.Options;
import example.seckill.Orders;
import example.seckill.Place;
import example.seckill.Row;
import example.seckill.Sale;
import example.seckill.SaleError;
import example.seckill.Unanswered;
import example.seckill.Units;
import example.seckill.User;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;

/** Executes for `make clients` one call for each JSON line: see clients/cases.md. */
public final class Driver {
    private static final Charset BYTES = StandardCharsets.ISO_8859_1;
    private static final Gson JSON = new GsonBuilder().serializeNulls().create();

    public static void main(String[] args) throws Exception {
        JsonObject told = JsonParser.parseString(args[0]).getAsJsonObject();
        // A client's own class is compiled only if that client is installed.
        Link link = (Link) Class.forName(told.get("flavour").getAsString() + "Links")
                .getMethod("make", int.class, int.class, String.class)
                .invoke(null, told.get("port").getAsInt(), told.get("resp").getAsInt(), told.get("on").getAsString());
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null;) {
            System.out.println(JSON.toJson(run(link, JsonParser.parseString(line).getAsJsonObject())));
        }
        System.exit(0);
    }

    private static Object run(Link link, JsonObject order) throws Exception {
        String key = text(order, "key");
        switch (text(order, "call")) {
            case "outbox" -> {
                var range = new byte[][] {"XRANGE".getBytes(BYTES), key.getBytes(BYTES), {'-'}, {'+'}};
                Object reply = link.send(range[1], List.<byte[][]>of(range), Duration.ofSeconds(2)).get(0);
                return Map.of("events", ((List<?>) reply).stream()
                        .map(entry -> event(Event.decode(latin(((List<?>) entry).get(1))))).toList());
            }
            case "home" -> {
                int parts = order.get("parts").getAsInt();
                return Map.of("part", Sale.home(key, parts, text(order, "user"), BYTES).part());
            }
            case "answer" -> {
                return answer(Answer.of(raw(order.get("reply"))));
            }
            default -> { }
        }
        if (order.has("parts")) {
            key = Sale.home(key, order.get("parts").getAsInt(), text(order, "user"), BYTES).key();
        }
        List<Object> attempts = new ArrayList<>();
        Map<String, Object> line = new HashMap<>();
        try {
            boolean isNone = order.has("client");
            var options = options(order).withOnAttempt((name, outcome, lost, ms) ->
                    attempts.add(List.of(name, outcome, lost)));
            line.putAll(call(new Sale(isNone ? null : link, key, options), order));
        } catch (SaleError error) {
            line.putAll(Map.of("error", "SaleError", "code", error.code()));
        } catch (Unanswered error) {
            line.putAll(Map.of("error", "Unanswered", "req", plain(error.req()), "lost", error.lost()));
        } catch (IllegalArgumentException error) {
            line.put("error", "TypeError");
        }
        line.put("attempts", attempts);
        return line;
    }

    private static Options options(JsonObject order) {
        Options options = Options.DEFAULT.withCharset(BYTES);
        if (order.has("timeout_ms")) {
            options = options.withTimeout(Duration.ofMillis(order.get("timeout_ms").getAsLong()));
        }
        if (order.has("attempts")) {
            options = options.withAttempts(order.get("attempts").getAsInt());
        }
        JsonObject durable = order.getAsJsonObject("durable");
        return durable == null ? options : options.withDurable(new Options.Durable(
                text(durable, "mark"), durable.has("replicas") ? durable.get("replicas").getAsInt() : 1,
                Duration.ofMillis(durable.has("timeout_ms") ? durable.get("timeout_ms").getAsLong() : 1000)));
    }

    private static Map<String, Object> call(Sale sale, JsonObject order) {
        String user = text(order, "user");
        String req = text(order, "req");
        boolean isPart = order.has("keep");
        boolean isNamed = isPart && order.get("keep").isJsonArray();
        long[] these = isNamed ? numbers(order.get("keep")) : new long[0];
        long keep = isNamed ? 0 : number(order, "keep", 0);
        return switch (text(order, "call")) {
            case "grab" -> answer(order.has("upto") ? sale.grab(user, req, Units.upTo(number(order, "upto", 0)))
                    : order.has("units") ? sale.grab(user, req, Units.exactly(numbers(order.get("units"))))
                    : order.has("adjacent") ? sale.grab(user, req, Units.adjacent(number(order, "qty", 1)))
                    : order.has("qty") ? sale.grab(user, req, Units.qty(number(order, "qty", 1)))
                    : sale.grab(user, req));
            case "wait" -> answer(sale.wait(user, req, number(order, "qty", 1),
                    order.has("until_ms") ? number(order, "until_ms", 0) : null));
            case "place" -> {
                Place place = sale.place(user);
                yield place == null ? Map.of() : Map.of("ticket", place.ticket(), "ahead", place.ahead(),
                        "units_ahead", place.unitsAhead());
            }
            case "confirm" -> answer(order.has("reclaim") && order.get("reclaim").getAsBoolean()
                    ? sale.reclaim(user, req)
                    : isNamed ? sale.confirm(user, req, these)
                    : isPart ? sale.confirm(user, req, keep) : sale.confirm(user, req));
            case "cancel" -> answer(isNamed ? sale.cancel(user, req, these)
                    : isPart ? sale.cancel(user, req, keep) : sale.cancel(user, req));
            case "extend" -> answer(sale.extend(user, number(order, "ms", 0), req));
            case "refund" -> answer(isNamed ? sale.refund(user, req, these)
                    : isPart ? sale.refund(user, req, keep) : sale.refund(user, req));
            case "mgrab" -> multi(sale.mgrab(user, texts(order.get("others")), req, numbers(order.get("qty"))));
            case "units" -> Map.of("units",
                    sale.units(number(order, "first", 1), (int) number(order, "count", 1000)));
            case "unit" -> {
                Row row = sale.unit(number(order, "unit", 1));
                yield row == null ? Map.of() : row(row);
            }
            case "status" -> sale.status();
            case "user" -> {
                User told = sale.user(user);
                yield Map.of("allowance", told.allowance(), "admission", told.admission(),
                        "grants", told.grants().stream().map(Driver::row).toList());
            }
            case "winners" -> {
                String state = order.has("state") ? text(order, "state") : "LIVE";
                List<Row> rows = sale.winners(state, number(order, "after", 0)).toList();
                Map<String, Object> told = new HashMap<>(Map.of("count", rows.size()));
                told.put("first", rows.isEmpty() ? null : row(rows.get(0)));
                told.put("last", rows.isEmpty() ? null : row(rows.get(rows.size() - 1)));
                yield told;
            }
            case "orders" -> {
                Orders orders = sale.orders(text(order, "key"), text(order, "group"), text(order, "name"))
                        .follow(false).idle(Duration.ofMillis(number(order, "idle_ms", 60_000)));
                List<Object> events = new ArrayList<>();
                while (orders.hasNext()) {
                    Orders.Order told = orders.next();
                    events.add(told.event() == null ? null : event(told.event()));
                    if (order.has("ack") && order.get("ack").getAsBoolean()) {
                        told.ack();
                    }
                }
                yield Map.of("events", events);
            }
            default -> throw new IllegalStateException("what is " + order + "?");
        };
    }

    private static Map<String, Object> answer(Answer answer) {
        Map<String, Object> told = new HashMap<>();
        told.put("outcome", answer.outcome());
        told.put("won", answer.won());
        told.put("req", plain(answer.req()));
        told.put("lost", answer.lost());
        told.put("durable", answer.durable());
        told.put("seq", answer.seq());
        told.put("qty", answer.qty());
        told.put("state", answer.state());
        told.put("deadline_ms", answer.deadlineMs());
        told.put("available", answer.available());
        told.put("held", answer.held());
        told.put("allowance", answer.allowance());
        told.put("unit", answer.unit());
        told.put("units", answer.units());
        told.put("opens_in_ms", answer.opensInMs());
        told.put("ticket", answer.ticket());
        told.put("ahead", answer.ahead());
        told.put("units_ahead", answer.unitsAhead());
        return told;
    }

    private static Map<String, Object> multi(MultiAnswer answer) {
        Map<String, Object> told = new HashMap<>();
        told.put("outcome", answer.outcome());
        told.put("won", answer.won());
        told.put("req", plain(answer.req()));
        told.put("lost", answer.lost());
        told.put("durable", answer.durable());
        told.put("index", answer.index());
        told.put("refusal", answer.refusal() == null ? null : answer(answer.refusal()));
        told.put("grants", answer.grants().stream().map(Driver::answer).toList());
        return told;
    }

    private static Map<String, Object> row(Row row) {
        Map<String, Object> told = new HashMap<>(Map.of("seq", row.seq(), "user", plain(row.user()),
                "qty", row.qty(), "state", row.state(), "at_ms", row.atMs(),
                "deadline_ms", row.deadlineMs(), "epoch", row.epoch(), "round", row.round()));
        told.put("req", plain(row.req()));
        told.put("units", row.units());
        return told;
    }

    private static Object event(Event event) {
        Map<String, Object> told = new HashMap<>(Map.of("event", event.event(), "data", event.data()));
        told.put("sale", plain(event.sale()));
        told.put("user", plain(event.user()));
        told.put("req", plain(event.req()));
        told.put("outbox", plain(event.outbox()));
        told.put("split", plain(event.split()));
        return told;
    }

    /** Fields as ISO 8859-1 texts, which keep all bytes. */
    private static List<Object> latin(Object fields) {
        List<Object> all = new ArrayList<>();
        ((List<?>) fields).forEach(word -> all.add(new String((byte[]) word, BYTES)));
        return all;
    }

    /** An id as text if it is UTF-8, otherwise in hexadecimal. */
    private static Object plain(String id) {
        if (id == null) {
            return null;
        }
        byte[] bytes = id.getBytes(BYTES);
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException notText) {
            return Map.of("hex", HexFormat.of().formatHex(bytes));
        }
    }

    private static String text(JsonObject order, String name) {
        JsonElement value = order.get(name);
        if (value == null || value.isJsonNull()) {
            return null;
        }
        byte[] bytes = value.isJsonObject()
                ? HexFormat.of().parseHex(value.getAsJsonObject().get("hex").getAsString())
                : value.getAsString().getBytes(StandardCharsets.UTF_8);
        return new String(bytes, BYTES);
    }

    private static List<String> texts(JsonElement all) {
        return StreamSupport.stream(all.getAsJsonArray().spliterator(), false)
                .map(JsonElement::getAsString).toList();
    }

    private static long number(JsonObject order, String name, long otherwise) {
        return order.has(name) ? order.get(name).getAsLong() : otherwise;
    }

    private static long[] numbers(JsonElement value) {
        if (value == null || value.isJsonNull()) {
            return new long[0];
        }
        var all = value.isJsonArray() ? value.getAsJsonArray() : new JsonArray();
        if (!value.isJsonArray()) {
            all.add(value);
        }
        return StreamSupport.stream(all.spliterator(), false).mapToLong(JsonElement::getAsLong).toArray();
    }

    /** A raw reply, written as texts and numbers. */
    private static Object raw(JsonElement told) {
        if (told.isJsonArray()) {
            return StreamSupport.stream(told.getAsJsonArray().spliterator(), false).map(Driver::raw).toList();
        }
        return told.getAsJsonPrimitive().isNumber() ? told.getAsLong() : told.getAsString();
    }
}
