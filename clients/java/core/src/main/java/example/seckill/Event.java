package example.seckill;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An entry of the outbox. A repeated entry has an equal id, epoch and rev in its data. Missing
 * fields are null.
 *
 * @param event the event: GRANT, CONFIRM and so on
 * @param sale the sale's key at that time
 * @param data numbers (Long), booleans, words and lists of numbers; see docs/outbox.md
 * @param user the user with the grant
 * @param req the REQ of the grant, or of a RESTOCK
 * @param outbox the stream, of INIT and ALTER
 * @param split the split's id
 */
public record Event(String event, String sale, Map<String, Object> data, String user, String req,
        String outbox, String split) {

    /**
     * Reads the fields of a stream entry, a map or a flat list, of strings or bytes.
     *
     * @throws IllegalArgumentException if they are no entry of an outbox
     */
    public static Event decode(Object fields) {
        return decode(fields, StandardCharsets.UTF_8);
    }

    static Event decode(Object fields, Charset charset) {
        List<?> flat = Reply.list(fields);
        Map<String, String> told = new HashMap<>();
        for (int at = 0; at + 1 < flat.size(); at += 2) {
            told.put(Reply.text(flat.get(at), charset), Reply.text(flat.get(at + 1), charset));
        }
        if (!told.keySet().containsAll(List.of("event", "sale", "data"))) {
            throw new IllegalArgumentException("no entry of an outbox: " + told);
        }
        return new Event(told.get("event"), told.get("sale"), Json.object(told.get("data")),
                told.get("user"), told.get("req"), told.get("outbox"), told.get("split"));
    }
}
