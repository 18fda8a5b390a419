package example.seckill;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The quantity or the unit numbers of a GRAB. The server checks the number. */
public final class Units {
    /** One unit. A sale that draws amounts accepts nothing else. */
    public static final Units ONE = new Units();
    private final List<Object> words;

    private Units(Object... words) {
        this.words = List.of(words);
    }

    /** Exactly this many units. */
    public static Units qty(long units) {
        // GRAB takes one unit if it has no QTY.
        return units == 1 ? ONE : new Units("QTY", units);
    }

    /** At most this many units. */
    public static Units upTo(long most) {
        return new Units("UPTO", most);
    }

    /** This many consecutive numbers, in a sale with NUMBERED. */
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
