import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.RedisProtocol;
import seckill.Sale;

/** Does for `make clients` what it is told, a JSON object a line, and tells what came of it. */
public final class Driver {
    private static final Charset BYTES = StandardCharsets.ISO_8859_1;
    private static final Gson JSON = new GsonBuilder().serializeNulls().create();

    public static void main(String[] args) throws Exception {
        JsonObject told = JsonParser.parseString(args[0]).getAsJsonObject();
        var protocol = told.get("resp").getAsInt() == 3 ? RedisProtocol.RESP3 : RedisProtocol.RESP2;
        var config = DefaultJedisClientConfig.builder().protocol(protocol).build();
        var place = new HostAndPort("127.0.0.1", told.get("port").getAsInt());
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (var client = new JedisPooled(place, config)) {
            for (String line; (line = lines.readLine()) != null;) {
                System.out.println(JSON.toJson(run(client, JsonParser.parseString(line).getAsJsonObject())));
            }
        }
    }

    private static Object run(JedisPooled client, JsonObject order) {
        String key = text(order, "key");
        if (text(order, "call").equals("outbox")) {
            var entries = client.xrange(key.getBytes(BYTES), new byte[] {'-'}, new byte[] {'+'});
            return Map.of("events", entries.stream().map(Driver::event).toList());
        }
        JsonObject told = order.getAsJsonObject("durable");
        Sale.Durable durable = told == null ? null : new Sale.Durable(text(told, "mark"),
                told.get("replicas").getAsInt(), told.get("timeout_ms").getAsInt());
        var home = order.has("parts")
                ? Sale.home(key, order.get("parts").getAsInt(), text(order, "user"), BYTES)
                : new Sale.Home(0, key);
        if (text(order, "call").equals("home")) {
            return Map.of("part", home.part());
        }
        try {
            return call(new Sale(client, home.key(), durable, BYTES), order);
        } catch (Sale.SaleError error) {
            return Map.of("error", "SaleError", "code", error.code);
        } catch (Sale.Unanswered error) {
            return Map.of("error", "Unanswered", "req", plain(error.req));
        }
    }

    private static Object call(Sale sale, JsonObject order) {
        String user = text(order, "user");
        String req = text(order, "req");
        return switch (text(order, "call")) {
            case "grab" -> {
                String kept = req == null ? UUID.randomUUID().toString() : req;
                yield answer(order.has("upto") ? sale.grabUpTo(user, kept, order.get("upto").getAsLong())
                        : sale.grab(user, kept, order.has("qty") ? order.get("qty").getAsLong() : 1));
            }
            case "confirm" -> answer(sale.confirm(user, req, order.has("reclaim")));
            case "cancel" -> answer(sale.cancel(user, req));
            case "extend" -> answer(sale.extend(user, order.get("ms").getAsLong(), req));
            case "status" -> sale.status();
            case "user" -> {
                Sale.User told = sale.user(user);
                yield Map.of("allowance", told.allowance(), "admission", told.admission(),
                        "grants", told.grants().stream().map(Driver::row).toList());
            }
            default -> {
                String state = order.has("state") ? text(order, "state") : "LIVE";
                long after = order.has("after") ? order.get("after").getAsLong() : 0;
                List<Sale.Row> rows = sale.winners(state, after).toList();
                yield Map.of("count", rows.size(), "first", row(rows.get(0)),
                        "last", row(rows.get(rows.size() - 1)));
            }
        };
    }

    private static Map<String, Object> answer(Sale.Answer answer) {
        Map<String, Object> told = new HashMap<>(answer.numbers());
        told.put("opens_in", told.remove("opensIn"));
        told.put("outcome", answer.outcome() == null ? answer.state() : answer.outcome());
        told.put("state", answer.state());
        told.put("req", plain(answer.req()));
        told.put("won", answer.won());
        told.put("lost", answer.lost());
        told.put("durable", answer.durable());
        return told;
    }

    private static Map<String, Object> row(Sale.Row row) {
        Map<String, Object> told = new HashMap<>(Map.of("seq", row.seq(), "user", plain(row.user()),
                "qty", row.qty(), "state", row.state(), "deadline", row.deadline(),
                "epoch", row.epoch(), "round", row.round()));
        told.put("req", plain(row.req()));
        return told;
    }

    private static Object event(Object entry) {
        Map<String, String> fields = new HashMap<>();
        List<?> raw = (List<?>) ((List<?>) entry).get(1);
        for (int at = 0; at < raw.size(); at += 2) {
            fields.put(latin(raw.get(at)), latin(raw.get(at + 1)));
        }
        Sale.Event event = Sale.decode(fields);
        Map<String, Object> told = new HashMap<>(Map.of("event", event.event(), "data", event.data()));
        told.put("sale", plain(event.sale()));
        told.put("user", plain(event.user()));
        told.put("req", plain(event.req()));
        told.put("outbox", plain(event.outbox()));
        told.put("split", plain(event.split()));
        return told;
    }

    private static String latin(Object raw) {
        return new String((byte[]) raw, BYTES);
    }

    /** Ids travel as UTF-8 where they are that, else in hexadecimal. */
    private static Object plain(String id) {
        if (id == null) {
            return null;
        }
        byte[] bytes = id.getBytes(BYTES);
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(java.nio.ByteBuffer.wrap(bytes)).toString();
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
}
