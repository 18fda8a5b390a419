package example.seckill;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * The reply to GRAB, CONFIRM, CANCEL, EXTEND, REFUND or IMPORT. Fields that the outcome lacks are
 * null.
 *
 * @param outcome the first word
 * @param state the grant's; NOGRANT if there is none
 * @param req the REQ of the call; empty if it had none
 * @param seq the grant's number in its sale
 * @param qty units of the grant
 * @param deadlineMs deadline of a hold in Unix ms; 0 if the grant is not held
 * @param available units left in the sale
 * @param held held units of others, which may come back
 * @param allowance units that the user may still have
 * @param opensInMs milliseconds until the sale opens
 * @param ticket the user's number on the waiting list
 * @param ahead number of waiters before the user
 * @param unitsAhead units that these waiters ask for
 * @param unit the number of a taken unit
 * @param units the grant's unit numbers; null in a sale without NUMBERED
 * @param lost attempts of this call without a reply: after a refusal one of them may still arrive,
 *     so cancel
 * @param durable whether enough replicas have the grant; null without Durable
 */
public record Answer(Outcome outcome, State state, String req, Long seq, Long qty, Long deadlineMs,
        Long available, Long held, Long allowance, Long opensInMs, Long ticket, Long ahead,
        Long unitsAhead, Long unit, List<Long> units, int lost, Boolean durable) {

    /** Whether the user has the units. */
    public boolean won() {
        return state == State.HELD || state == State.SOLD;
    }

    /**
     * Reads a raw reply, of a script or of any client: a list of numbers and of strings, which may
     * be bytes. Additional words at its end are ignored.
     *
     * @throws IllegalArgumentException if it is no answer
     */
    public static Answer of(Object reply) {
        return of(reply, StandardCharsets.UTF_8);
    }

    static Answer of(Object reply, Charset charset) {
        List<?> words = Reply.list(reply);
        Outcome outcome = Reply.word(Outcome.class, Reply.at(words, 0), charset);
        return of(outcome, words.subList(1, words.size()), charset);
    }

    static Answer of(Outcome outcome, List<?> words, Charset charset) {
        var told = new Fields(outcome, words, charset);
        State state = told.state();
        if (state == null && outcome.ordinal() >= Outcome.HELD.ordinal()) {
            state = State.valueOf(outcome.name());
        }
        return new Answer(outcome, state, "", told.number("seq"), told.number("qty"),
                told.number("deadline_ms"), told.number("available"), told.number("held"),
                told.number("allowance"), told.number("opens_in_ms"), told.number("ticket"),
                told.number("ahead"), told.number("units_ahead"), told.number("unit"),
                Reply.units(words, outcome.fields.length), 0, null);
    }

    Answer told(String withReq, int lostAttempts, Boolean isDurable) {
        return new Answer(outcome, state, withReq, seq, qty, deadlineMs, available, held, allowance,
                opensInMs, ticket, ahead, unitsAhead, unit, units, lostAttempts, isDurable);
    }

    /** A fence (CANCELLED, number 0) is no grant. */
    boolean hasGrant() {
        return state != null && state != State.NOGRANT && seq != 0;
    }

    boolean isSame(Answer other) {
        return grant().equals(other.grant());
    }

    private List<Object> grant() {
        return Arrays.asList(state, seq, qty, deadlineMs, units);
    }

    /** The words after an outcome, by their names. None may be missing. */
    private record Fields(Outcome outcome, List<?> words, Charset charset) {
        Fields {
            Reply.at(words, outcome.fields.length - 1);
        }

        Object word(String name) {
            int at = List.of(outcome.fields).indexOf(name);
            return at < 0 ? null : words.get(at);
        }

        Long number(String name) {
            Object word = word(name);
            return word == null ? null : Reply.number(word);
        }

        State state() {
            Object word = word("state");
            return word == null ? null : Reply.word(State.class, word, charset);
        }
    }
}
