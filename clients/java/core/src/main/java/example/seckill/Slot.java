package example.seckill;

/** Slots of a cluster. */
final class Slot {
    private Slot() {}

    /** The slot of a key: CRC-16 (XMODEM) of its hash tag, or of the whole key. */
    static int of(byte[] key) {
        int from = indexOf(key, '{', 0) + 1;
        int to = from == 0 ? -1 : indexOf(key, '}', from);
        boolean hasTag = to > from;
        int sum = 0;
        for (int at = hasTag ? from : 0; at < (hasTag ? to : key.length); at++) {
            sum ^= (key[at] & 0xff) << 8;
            for (int bit = 0; bit < 8; bit++) {
                sum = (sum & 0x8000) == 0 ? sum << 1 : sum << 1 ^ 0x1021;
            }
        }
        return sum & 0x3fff;
    }

    private static int indexOf(byte[] key, char mark, int from) {
        for (int at = from; at < key.length; at++) {
            if (key[at] == mark) {
                return at;
            }
        }
        return -1;
    }
}
