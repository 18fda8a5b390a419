// Written from the module's own tables by `make docs`: change those, not this file.
package example.seckill;

/** How a grant stands. The user has its units if and only if it is HELD or SOLD. */
public enum State {
    /** Reserved until its deadline. */
    HELD,
    /** Paid, or granted by a sale without holds. */
    SOLD,
    /** Given back by the buyer, or a REQ that is fenced off. */
    CANCELLED,
    /** Not paid in time. */
    EXPIRED,
    /** Given back after it was sold. */
    REFUNDED,
    /** The user has no such grant. */
    NOGRANT
}
