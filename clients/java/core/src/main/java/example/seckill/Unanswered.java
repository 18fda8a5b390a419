package example.seckill;

/**
 * Nobody knows whether the call happened, or the server can't do it for now. The same call with this
 * REQ tells, and never takes twice.
 */
@SuppressWarnings("serial")
public final class Unanswered extends RuntimeException {
    private final String req;
    private final int lost;

    Unanswered(String req, int lost, Throwable why) {
        super("ask again with REQ " + req + ": " + why, why);
        this.req = req;
        this.lost = lost;
    }

    /** What to ask again with; empty where the call had none. */
    public String req() {
        return req;
    }

    /** Attempts without a reply. */
    public int lost() {
        return lost;
    }
}
