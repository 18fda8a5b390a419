package example.seckill;

/** An error of the server that a retry can't avoid. Nothing was changed. */
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
