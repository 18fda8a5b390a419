package example.seckill;

import java.util.List;

/** How many units a GRAB asks for. The server judges the number. */
public final class Units {
    /** One; the only thing that a sale which draws amounts takes. */
    public static final Units ONE = new Units();
    private final List<Object> words;

    private Units(Object... words) {
        this.words = List.of(words);
    }

    /** So many, or none. */
    public static Units qty(long units) {
        // One is what GRAB takes by itself.
        return units == 1 ? ONE : new Units("QTY", units);
    }

    /** At most so many. */
    public static Units upTo(long most) {
        return new Units("UPTO", most);
    }

    List<Object> words() {
        return words;
    }
}
