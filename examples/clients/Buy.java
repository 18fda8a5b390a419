// Buys one unit with Jedis:  java -cp 'jedis.jar:...' Buy.java URL KEY USER ORDER

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

public class Buy {
    private static final ProtocolCommand GRAB =
            () -> "SECKILL.GRAB".getBytes(StandardCharsets.UTF_8);

    /** Asks for one unit. The order id makes it safe to ask again: it never takes two. */
    static String grab(JedisPooled server, String key, String user, String order) {
        List<?> reply = (List<?>) server.sendCommand(GRAB, key, user, "REQ", order);
        String outcome = text(reply.get(0));
        if (!Set.of("GRANTED", "REPLAY", "ALREADY").contains(outcome)) {
            return "no unit: " + outcome;
        }
        String state = text(reply.get(3));
        boolean won = state.equals("SOLD") || state.equals("HELD");
        String units = reply.get(2) + " unit, number " + reply.get(1);
        return outcome + (won ? " " + units : " but " + state);
    }

    /** Strings arrive as bytes, integers as Long. */
    private static String text(Object element) {
        return new String((byte[]) element, StandardCharsets.UTF_8);
    }

    public static void main(String[] args) {
        try (JedisPooled server = new JedisPooled(args[0])) {
            System.out.println(grab(server, args[1], args[2], args[3]));
        } catch (JedisConnectionException error) {
            System.err.println("unknown, ask again with the same order id: " + error.getMessage());
            System.exit(1);
        } catch (JedisDataException error) {
            System.err.println("mistake: " + error.getMessage());
            System.exit(1);
        }
    }
}
