package example.seckill;

/**
 * No reply came: whether the call was executed is not known, or the server can't execute it for
 * now. Send the call again with this REQ: the reply says what was done, and no unit is taken twice.
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

    /** The REQ to repeat the call with; empty where the call had none. */
    public String req() {
        return req;
    }

    /** Attempts without a reply. */
    public int lost() {
        return lost;
    }
}
