package example.seckill;

import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Raw replies of any client: numbers, lists, and strings, which may be bytes. */
final class Reply {
    private Reply() {}

    static List<?> list(Object reply) {
        if (reply instanceof Map<?, ?> map) {
            List<Object> flat = new ArrayList<>();
            map.forEach((name, value) -> flat.addAll(java.util.Arrays.asList(name, value)));
            return flat;
        }
        if (reply instanceof List<?> list) {
            return list;
        }
        throw new IllegalArgumentException("not an answer of seckill: " + reply);
    }

    static Object at(List<?> words, int place) {
        if (place >= words.size()) {
            throw new IllegalArgumentException("not an answer of seckill: " + words);
        }
        return place < 0 ? null : words.get(place);
    }

    /** Some clients have an Integer where a number is small, some a text. */
    static long number(Object word) {
        if (word instanceof Number number) {
            return number.longValue();
        }
        throw new IllegalArgumentException("not a number of seckill: " + word);
    }

    /** The numbers that a sale with NUMBERED has behind so many words; null in any other. */
    static List<Long> units(List<?> words, int count) {
        boolean isThere = count < words.size() && words.get(count) instanceof List<?>;
        return isThere ? list(words.get(count)).stream().map(Reply::number).toList() : null;
    }

    static String text(Object word, Charset charset) {
        if (word instanceof byte[] bytes) {
            return new String(bytes, charset);
        }
        return word == null ? null : word.toString();
    }

    static <E extends Enum<E>> E word(Class<E> all, Object word, Charset charset) {
        return Enum.valueOf(all, String.valueOf(text(word, charset)));
    }
}
