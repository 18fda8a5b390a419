package example.seckill;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Raw replies of any client: numbers, lists, and strings, which may be bytes. */
final class Reply {
    private Reply() {}

    /** The elements of a list. A RESP3 map becomes a list of names and values, also if the client has pairs. */
    static List<?> list(Object reply) {
        if (reply instanceof Map<?, ?> map) {
            return list(List.copyOf(map.entrySet()));
        }
        if (reply instanceof List<?> list) {
            if (list.isEmpty() || !(list.get(0) instanceof Map.Entry)) {
                return list;
            }
            return list.stream().map(Map.Entry.class::cast)
                    .flatMap(pair -> Stream.of(pair.getKey(), pair.getValue())).toList();
        }
        throw new IllegalArgumentException("not an answer of seckill: " + reply);
    }

    static Object at(List<?> words, int place) {
        if (place >= words.size()) {
            throw new IllegalArgumentException("not an answer of seckill: " + words);
        }
        return place < 0 ? null : words.get(place);
    }

    /** A number. Some clients return an Integer for small numbers, some a text. */
    static long number(Object word) {
        if (word instanceof Number number) {
            return number.longValue();
        }
        throw new IllegalArgumentException("not a number of seckill: " + word);
    }

    /** The unit numbers after this many words, in a sale with NUMBERED; null in other sales. */
    static List<Long> units(List<?> words, int count) {
        boolean isThere = count < words.size() && words.get(count) instanceof List<?>;
        return isThere ? list(words.get(count)).stream().map(Reply::number).toList() : null;
    }

    /**
     * The bytes of a text. A character that the charset lacks must not become a `?`: different users
     * would be one.
     */
    static byte[] bytes(String text, Charset charset) {
        try {
            ByteBuffer bytes = charset.newEncoder().encode(CharBuffer.wrap(text));
            return Arrays.copyOf(bytes.array(), bytes.limit());
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException("not a text of " + charset + ": " + text, error);
        }
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
