package example.seckill;

/**
 * No reply came, so the outcome is unknown; or the server can't execute the call for now. Send the
 * call again with this REQ: the reply has the outcome, and no unit is taken twice.
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

    /** The REQ for the repeated call; empty if the call had none. */
    public String req() {
        return req;
    }

    /** Attempts without a reply. */
    public int lost() {
        return lost;
    }
}
