package example.seckill;

/**
 * The first word of a reply, and the fields behind it, by the names of {@link Answer}. Those of
 * GRAB come first; the others are a grant's states, which CONFIRM, CANCEL, EXTEND and REFUND tell.
 */
public enum Outcome {
    /** The units are the user's. */
    GRANTED("seq", "qty", "state", "deadline_ms", "available"),
    /** The allowance is used up; this is the user's newest live grant. */
    ALREADY("seq", "qty", "state", "deadline_ms"),
    /** This REQ was granted before; this is that grant as it stands now. */
    REPLAY("seq", "qty", "state", "deadline_ms"),
    /** Some allowance is left, but less than was asked for. */
    OVERLIMIT("allowance"),
    /** Nothing is available; what is held may come back. */
    SOLDOUT("held"),
    /** Fewer units are available than were asked for. */
    SHORT("available"),
    /** The window is not open yet. */
    NOTOPEN("opens_in_ms"),
    /** The window is over. */
    CLOSED,
    /** The operator paused the sale. */
    PAUSED,
    /** The user is not eligible. */
    DENIED,
    /** The user is shed, or the waiting list is full. */
    BUSY,
    /** The user is on the waiting list. */
    WAITING("ticket", "ahead", "units_ahead"),
    /** Reserved until the deadline. */
    HELD("seq", "qty", "deadline_ms"),
    /** Paid, or granted by a sale without holds. */
    SOLD("seq", "qty", "deadline_ms"),
    /** Given back by the buyer, or a REQ that is fenced off. */
    CANCELLED("seq", "qty", "deadline_ms"),
    /** Not paid in time. */
    EXPIRED("seq", "qty", "deadline_ms"),
    /** Given back after it was sold. */
    REFUNDED("seq", "qty", "deadline_ms"),
    /** The user has no such grant. */
    NOGRANT("seq", "qty", "deadline_ms");

    final String[] fields;

    Outcome(String... fields) {
        this.fields = fields;
    }
}
