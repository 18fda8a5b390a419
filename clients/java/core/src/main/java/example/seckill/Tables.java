// Written from the module's own tables by `make docs`: change those, not this file.
package example.seckill;

import java.util.List;
import java.util.Set;

final class Tables {
    private Tables() {}

    /** Names of the elements of a row in USER and WINNERS. */
    static final List<String> ROW = List.of(
            "seq",
            "user",
            "qty",
            "state",
            "at_ms",
            "deadline_ms",
            "req",
            "epoch",
            "round");
    /** First words of errors that a retry can't avoid. */
    static final Set<String> MISTAKES = Set.of(
            "AMBIGUOUS",
            "BUSYGROUP",
            "CROSSSLOT",
            "ERR",
            "NOAUTH",
            "NOGROUP",
            "NOPERM",
            "NOSALE",
            "NOSCRIPT",
            "NOTNUMBERED",
            "REQMISMATCH",
            "SALEEXISTS",
            "WRONGPART",
            "WRONGPASS",
            "WRONGTYPE");
}
