// Written from the module's own tables by `make docs`: change those, not this file.
package example.seckill;

/**
 * The first word of a reply, with the names of its other fields in {@link Answer}. Those of
 * GRAB come first; the others are a grant's states, which CONFIRM, CANCEL, EXTEND and REFUND reply.
 */
public enum Outcome {
    /** Yours; available is what is left. */
    GRANTED("seq", "qty", "state", "deadline_ms", "available"),
    /** The allowance is used up; this is the user's newest live grant. */
    ALREADY("seq", "qty", "state", "deadline_ms"),
    /** This request id was granted before; this is that grant as it stands now. */
    REPLAY("seq", "qty", "state", "deadline_ms"),
    /** Some allowance is left, but less than QTY. */
    OVERLIMIT("allowance"),
    /** Nothing is available; held units may come back (0: final until units are added or refunded, or the next round begins). */
    SOLDOUT("held"),
    /** Fewer are available than QTY. */
    SHORT("available"),
    /** Opens in so many milliseconds. */
    NOTOPEN("opens_in_ms"),
    /** The window is over. */
    CLOSED,
    /** The operator paused the sale. */
    PAUSED,
    /** Not eligible. */
    DENIED,
    /** Not let in, see admission; with WAIT also: the list is full. */
    BUSY,
    /** On the waiting list, now or since before. */
    WAITING("ticket", "ahead", "units_ahead"),
    /** Somebody has this unit, the first of those asked for that is not free. */
    TAKEN("unit"),
    /** Reserved until its deadline. */
    HELD("seq", "qty", "deadline_ms"),
    /** Paid, or granted by a sale without holds. */
    SOLD("seq", "qty", "deadline_ms"),
    /** Returned by the buyer, or a REQ with a fence. */
    CANCELLED("seq", "qty", "deadline_ms"),
    /** Not paid in time. */
    EXPIRED("seq", "qty", "deadline_ms"),
    /** Returned after it was sold. */
    REFUNDED("seq", "qty", "deadline_ms"),
    /** The user has no such grant. */
    NOGRANT("seq", "qty", "deadline_ms");

    final String[] fields;

    Outcome(String... fields) {
        this.fields = fields;
    }
}
