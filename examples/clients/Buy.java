// Buys one unit with Jedis and clients/java:  java -cp 'jedis.jar:...' Buy.java URL KEY USER ORDER

import java.nio.charset.StandardCharsets;
import redis.clients.jedis.JedisPooled;
import seckill.Sale;

public class Buy {
    public static void main(String[] args) {
        try (JedisPooled client = new JedisPooled(args[0])) {
            Sale sale = new Sale(client, args[1], null, StandardCharsets.UTF_8);
            Sale.Answer answer = sale.grab(args[2], args[3], 1);
            String units = answer.numbers().get("qty") + " unit, number " + answer.numbers().get("seq");
            String why = String.valueOf(answer.state() == null ? answer.outcome() : answer.state());
            System.out.println(answer.won() ? answer.outcome() + " " + units : "no unit: " + why);
        } catch (Sale.SaleError error) {
            System.err.println("mistake: " + error.getMessage());
            System.exit(1);
        } catch (Sale.Unanswered error) {
            System.err.println("unknown, ask again with the order " + error.req);
            System.exit(1);
        }
    }
}
