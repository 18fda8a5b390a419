package example.seckill;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A reader for the JSON that the module writes: objects, lists, strings, whole numbers, true, false
 * and null. So the library needs no JSON library.
 */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) {
        var json = new Json(text);
        Object value = json.value();
        if (json.at != text.length() || !(value instanceof Map)) {
            throw json.wrong();
        }
        return (Map<String, Object>) value;
    }

    private Object value() {
        return switch (peek()) {
            case '{' -> members();
            case '[' -> items();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> members() {
        Map<String, Object> all = new LinkedHashMap<>();
        for (at++; peek() != '}'; skip(',')) {
            String name = string();
            skip(':');
            all.put(name, value());
        }
        at++;
        return all;
    }

    private List<Object> items() {
        List<Object> all = new ArrayList<>();
        for (at++; peek() != ']'; skip(',')) {
            all.add(value());
        }
        at++;
        return all;
    }

    private String string() {
        var told = new StringBuilder();
        skip('"');
        for (; peek() != '"'; at++) {
            if (peek() != '\\') {
                told.append(peek());
                continue;
            }
            at++;
            int escape = "bfnrt".indexOf(peek());
            if (peek() == 'u') {
                told.append((char) Integer.parseInt(text, at + 1, at + 5, 16));
                at += 4;
            } else {
                told.append(escape < 0 ? peek() : "\b\f\n\r\t".charAt(escape));
            }
        }
        at++;
        return told.toString();
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw wrong();
        }
        at += word.length();
        return value;
    }

    private Long number() {
        int from = at;
        while (at < text.length() && "-0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return Long.valueOf(text.substring(from, at));
    }

    private char peek() {
        if (at >= text.length()) {
            throw wrong();
        }
        return text.charAt(at);
    }

    /** Skips a mark. After the last value there is no comma. */
    private void skip(char mark) {
        if (peek() == mark) {
            at++;
        } else if (mark != ',' || "]}".indexOf(peek()) < 0) {
            throw wrong();
        }
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("not the JSON of seckill, at " + at + ": " + text);
    }
}
