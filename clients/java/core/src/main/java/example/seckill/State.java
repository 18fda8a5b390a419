// Written from the module's own tables by `make docs`: change those, not this file.
package example.seckill;

/** The state of a grant. The user has its units if the state is HELD or SOLD. */
public enum State {
    /** Reserved until its deadline. */
    HELD,
    /** Paid, or granted by a sale without holds. */
    SOLD,
    /** Returned by the buyer, or a REQ with a fence. */
    CANCELLED,
    /** Not paid in time. */
    EXPIRED,
    /** Returned after it was sold. */
    REFUNDED,
    /** The user has no such grant. */
    NOGRANT
}
