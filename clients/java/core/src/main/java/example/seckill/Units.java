package example.seckill;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** How many units a GRAB asks for. The server judges the number. */
public final class Units {
    /** One; the only thing that a sale which draws amounts takes. */
    public static final Units ONE = new Units();
    private final List<Object> words;

    private Units(Object... words) {
        this.words = List.of(words);
    }

    /** This many units, or none. */
    public static Units qty(long units) {
        // GRAB takes one unit if it has no QTY.
        return units == 1 ? ONE : new Units("QTY", units);
    }

    /** At most this many. */
    public static Units upTo(long most) {
        return new Units("UPTO", most);
    }

    /** This many adjacent numbers, in a sale with NUMBERED. */
    public static Units adjacent(long units) {
        return new Units("QTY", units, "ADJACENT");
    }

    /** Exactly these numbers, in a sale with NUMBERED. */
    public static Units exactly(long... units) {
        List<Object> words = new ArrayList<>(List.of("UNITS"));
        Arrays.stream(units).forEach(words::add);
        return new Units(words.toArray());
    }

    List<Object> words() {
        return words;
    }
}
