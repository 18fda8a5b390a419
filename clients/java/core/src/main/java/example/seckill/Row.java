package example.seckill;

import java.nio.charset.Charset;
import java.util.List;

/**
 * A grant, as USER and WINNERS list it.
 *
 * @param seq its number in its sale
 * @param user whose it is
 * @param qty units that it has, or had last
 * @param state how it stands
 * @param atMs when it was granted, Unix ms
 * @param deadlineMs until when it is held, Unix ms; 0 if it is not
 * @param req the REQ of its GRAB, or null
 * @param epoch the epoch in which it was granted
 * @param round its round; 0 in a sale without
 */
public record Row(long seq, String user, long qty, State state, long atMs, long deadlineMs,
        String req, long epoch, long round) {

    static Row of(Object reply, Charset charset) {
        List<?> row = Reply.list(reply);
        Reply.at(row, 8);
        return new Row(Reply.number(row.get(0)), Reply.text(row.get(1), charset),
                Reply.number(row.get(2)), Reply.word(State.class, row.get(3), charset),
                Reply.number(row.get(4)), Reply.number(row.get(5)), Reply.text(row.get(6), charset),
                Reply.number(row.get(7)), Reply.number(row.get(8)));
    }

    static List<Row> all(Object reply, Charset charset) {
        return Reply.list(reply).stream().map(row -> of(row, charset)).toList();
    }
}
