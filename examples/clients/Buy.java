// Buys one unit with Jedis and clients/java:  java -cp 'jedis.jar:...' Buy.java URL KEY USER ORDER

import example.seckill.Answer;
import example.seckill.JedisLink;
import example.seckill.Sale;
import example.seckill.SaleError;
import example.seckill.Unanswered;
import redis.clients.jedis.JedisPooled;

public class Buy {
    public static void main(String[] args) {
        try (JedisPooled client = new JedisPooled(args[0])) {
            Answer answer = new Sale(JedisLink.of(client), args[1]).grab(args[2], args[3]);
            String units = answer.qty() + " unit, number " + answer.seq();
            Object why = answer.state() == null ? answer.outcome() : answer.state();
            System.out.println(answer.won() ? answer.outcome() + " " + units : "no unit: " + why);
        } catch (SaleError error) {
            System.err.println("mistake: " + error.getMessage());
            System.exit(1);
        } catch (Unanswered error) {
            System.err.println("unknown, ask again with the order " + error.req());
            System.exit(1);
        }
    }
}
