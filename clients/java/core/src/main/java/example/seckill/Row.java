package example.seckill;

import java.nio.charset.Charset;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * A grant in the reply of USER or WINNERS.
 *
 * @param seq its number in its sale
 * @param user the user with the grant
 * @param qty its units, or its last ones
 * @param state its state
 * @param atMs time of the grant, Unix ms
 * @param deadlineMs deadline of a hold, Unix ms; 0 if it is not held
 * @param req the REQ of its GRAB, or null
 * @param epoch the epoch in which it was granted
 * @param round its round; 0 in a sale without rounds
 * @param units its unit numbers; null in a sale without NUMBERED
 */
public record Row(long seq, String user, long qty, State state, long atMs, long deadlineMs,
        String req, long epoch, long round, List<Long> units) {

    static Row of(Object reply, Charset charset) {
        List<?> row = Reply.list(reply);
        Reply.at(row, Tables.ROW.size() - 1);
        Function<String, Object> cell = name -> row.get(Tables.ROW.indexOf(name));
        ToLongFunction<String> number = name -> Reply.number(cell.apply(name));
        Function<String, String> text = name -> Reply.text(cell.apply(name), charset);
        return new Row(number.applyAsLong("seq"), text.apply("user"), number.applyAsLong("qty"),
                Reply.word(State.class, cell.apply("state"), charset), number.applyAsLong("at_ms"),
                number.applyAsLong("deadline_ms"), text.apply("req"), number.applyAsLong("epoch"),
                number.applyAsLong("round"), Reply.units(row, Tables.ROW.size()));
    }

    static List<Row> all(Object reply, Charset charset) {
        return Reply.list(reply).stream().map(row -> of(row, charset)).toList();
    }
}
