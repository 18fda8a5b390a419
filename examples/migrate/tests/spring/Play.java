// A minimal Spring app: Spring MVC with the controller of docs/migrate-more.md, which the test inserts below.
// Debian has no Spring Data Redis and no resource server. So StringRedisTemplate, Jwt and AuthenticationPrincipal
// are replaced here, with the methods that the controller calls.
//
// Play PORT [-!~]USER ... clicks for each user in turn and prints the bodies of the answers.

import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;

import example.seckill.Link;
import example.seckill.Sale;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.core.MethodParameter;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.setup.MockMvcBuilders;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.bind.support.WebDataBinderFactory;
import org.springframework.web.context.request.NativeWebRequest;
import org.springframework.web.method.support.HandlerMethodArgumentResolver;
import org.springframework.web.method.support.ModelAndViewContainer;

public class Play {
    public static void main(String[] words) throws Exception {
        Wire wire = new Wire(Integer.parseInt(words[0]));
        Orders orders = new Orders();
        Goods goods = new Goods(new StringRedisTemplate(wire), new After(new Sale(wire, "sale:goods")), orders);
        MockMvc web = MockMvcBuilders.standaloneSetup(goods).setCustomArgumentResolvers(new Login()).build();
        for (String word : List.of(words).subList(1, words.length)) {
            String user = word.replaceFirst("^[-!~]", "");
            // The work fails; it is done, and its answer is lost; the hold ends meanwhile.
            orders.after = switch (word.charAt(0)) {
                case '-' -> order -> false;
                case '!' -> order -> { throw new IllegalStateException("no answer"); };
                case '~' -> order -> wire.ask("SECKILL.CANCEL", "sale:goods", user, "REQ", order) != null;
                default -> order -> true;
            };
            try {
                byte[] told = web.perform(post("/goods-new/buy").header("Authorization", "Bearer " + user))
                        .andReturn().getResponse().getContentAsByteArray();
                System.out.println(new String(told, StandardCharsets.UTF_8));
            } catch (Exception why) {
                System.out.println("{\"msg\":\"" + why.getCause().getMessage() + "\"}");
            }
        }
        System.out.println("orders " + orders.users.size());
    }
}

@RestController
class Goods {
    private final StringRedisTemplate template;
    private final After goods;
    private final Orders orders;

    Goods(StringRedisTemplate template, After goods, Orders orders) {
        this.template = template;
        this.goods = goods;
        this.orders = orders;
    }

    // the page's controller
}

/** Inserts an order only once, and removes it. */
class Orders {
    final Map<String, String> users = new ConcurrentHashMap<>();
    Work after;

    /** What happens when the row is written. */
    interface Work {
        boolean written(String order) throws IOException;
    }

    boolean write(String order, String user) {
        users.putIfAbsent(order, user);
        try {
            return after.written(order);
        } catch (IOException why) {
            throw new UncheckedIOException(why);
        }
    }

    void remove(String order) {
        users.remove(order);
    }
}

/** As a resource server: makes the controller's Jwt from the token in the header. */
class Login implements HandlerMethodArgumentResolver {
    @Override
    public boolean supportsParameter(MethodParameter parameter) {
        return parameter.hasParameterAnnotation(AuthenticationPrincipal.class);
    }

    @Override
    public Object resolveArgument(MethodParameter parameter, ModelAndViewContainer container,
            NativeWebRequest request, WebDataBinderFactory factory) {
        return new Jwt(request.getHeader("Authorization").substring("Bearer ".length()));
    }
}

record Jwt(String subject) {
    String getSubject() {
        return subject;
    }
}

@Retention(RetentionPolicy.RUNTIME)
@interface AuthenticationPrincipal {}

class StringRedisTemplate {
    private final Wire wire;

    StringRedisTemplate(Wire wire) {
        this.wire = wire;
    }

    StringRedisTemplate opsForValue() {
        return this;
    }

    Boolean setIfAbsent(String key, String value, Duration ends) throws IOException {
        return wire.ask("SET", key, value, "NX", "EX", String.valueOf(ends.toSeconds())) != null;
    }

    String get(String key) throws IOException {
        return wire.ask("GET", key) instanceof byte[] text ? new String(text, StandardCharsets.UTF_8) : null;
    }

    Boolean delete(String key) throws IOException {
        return Long.valueOf(1).equals(wire.ask("DEL", key));
    }
}

/** A minimal link: one connection for each call. */
class Wire implements Link {
    private final int port;

    Wire(int port) {
        this.port = port;
    }

    Object ask(String... words) throws IOException {
        byte[][] command = new byte[words.length][];
        for (int at = 0; at < words.length; at++) {
            command[at] = words[at].getBytes(StandardCharsets.UTF_8);
        }
        return send(command[0], List.<byte[][]>of(command), Duration.ofSeconds(1)).get(0);
    }

    @Override
    public List<Object> send(byte[] key, List<byte[][]> commands, Duration within) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            var out = socket.getOutputStream();
            var in = new DataInputStream(socket.getInputStream());
            List<Object> replies = new ArrayList<>();
            for (byte[][] words : commands) {
                out.write(("*" + words.length + "\r\n").getBytes());
                for (byte[] word : words) {
                    out.write(("$" + word.length + "\r\n").getBytes());
                    out.write(word);
                    out.write("\r\n".getBytes());
                }
                out.flush();
                replies.add(reply(in));
            }
            return replies;
        }
    }

    private static Object reply(DataInputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int letter = in.read(); letter != '\n'; letter = in.read()) {
            line.append((char) letter);
        }
        String text = line.substring(1).trim();
        switch (line.charAt(0)) {
            case ':':
                return Long.valueOf(text);
            case '-':
                return new ServerError(text);
            case '+':
                return text;
            default:
                break;
        }
        int length = Integer.parseInt(text);
        if (length < 0) {
            return null;
        }
        if (line.charAt(0) == '*') {
            List<Object> elements = new ArrayList<>();
            for (int at = 0; at < length; at++) {
                elements.add(reply(in));
            }
            return elements;
        }
        byte[] bytes = in.readNBytes(length);
        in.readNBytes(2);
        return bytes;
    }
}
