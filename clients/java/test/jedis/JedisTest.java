import example.seckill.JedisLink;
import example.seckill.Sale;
import example.seckill.SaleError;
import java.net.InetAddress;
import java.net.ServerSocket;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;

/** A test of the link with Jedis over a server that is played. */
public final class JedisTest {
    private static final String WRONG = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

    private JedisTest() {}

    public static void main(String[] args) throws Exception {
        var server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        var thread = new Thread(() -> {
            try {
                while (true) {
                    server.accept().getOutputStream().write(WRONG.getBytes());
                }
            } catch (Exception over) {
                // The server has ended.
            }
        });
        thread.setDaemon(true);
        thread.start();
        var config = DefaultJedisClientConfig.builder().password("wrong").build();
        var client = new JedisPooled(new HostAndPort("127.0.0.1", server.getLocalPort()), config);
        try {
            throw new AssertionError(new Sale(JedisLink.of(client), "sale").grab("alice", "o-1").outcome());
        } catch (SaleError expected) {
            if (!expected.code().equals("WRONGPASS")) {
                throw new AssertionError(expected.code());
            }
        }
        System.exit(0);
    }
}
