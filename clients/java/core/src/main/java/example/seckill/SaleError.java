package example.seckill;

/** The server refused the call, would do so again, and nothing has happened. */
@SuppressWarnings("serial")
public final class SaleError extends RuntimeException {
    private final String code;

    SaleError(Link.ServerError why) {
        super(why.getMessage());
        code = why.code();
    }

    /** The error's first word. */
    public String code() {
        return code;
    }
}
