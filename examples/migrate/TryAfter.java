// Tries After.java as try.php tries a page: two users click twice each for the only unit of sale:try. The
// server with the module is 127.0.0.1:6390, or HOST:PORT as the first argument.

import example.seckill.JedisLink;
import example.seckill.Sale;
import java.util.List;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;

public class TryAfter {
    public static void main(String[] words) throws Exception {
        String server = words.length > 0 ? words[0] : "127.0.0.1:6390";
        try (JedisPooled client = new JedisPooled(HostAndPort.from(server))) {
            After after = new After(new Sale(JedisLink.of(client), "sale:try"));
            for (String user : List.of("1", "1", "2", "2")) {
                String told = After.click(() -> after.counter(user, "try-" + user));
                System.out.println("user " + user + " is told: " + told);
            }
        }
    }
}
