package example.seckill;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.ReturnType;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * A link with Spring Data Redis and any driver, by a script of one line: with Lettuce
 * connection.execute() reads no numbers, and throws on TAKEN. A script can't call WAIT, so durable is
 * not supported; use the link of the driver instead.
 */
public final class SpringLink implements Link {
    private static final byte[] SCRIPT = "return {redis.call(unpack(ARGV))}".getBytes();
    private final RedisConnectionFactory factory;

    /** The factory that StringRedisTemplate uses, too. */
    public SpringLink(RedisConnectionFactory factory) {
        this.factory = factory;
    }

    @Override
    public List<Object> send(byte[] key, List<byte[][]> commands, Duration within) {
        try {
            return exchange(key, commands);
        } catch (DataAccessException error) {
            return Collections.singletonList(refusal(error));
        }
    }

    private List<Object> exchange(byte[] key, List<byte[][]> commands) {
        List<Object> replies = new ArrayList<>();
        RedisConnection connection = factory.getConnection();
        try {
            for (byte[][] words : commands) {
                byte[][] all = new byte[words.length + 1][];
                all[0] = key;
                System.arraycopy(words, 0, all, 1, words.length);
                List<?> told = connection.scriptingCommands().eval(SCRIPT, ReturnType.MULTI, 1, all);
                replies.add(told == null || told.isEmpty() ? null : told.get(0));
            }
            return replies;
        } finally {
            connection.close();
        }
    }

    /** The server's error, which is the message of one of the causes. */
    private static ServerError refusal(DataAccessException error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            // TLS begins its messages with a word in capitals, too.
            boolean isReply = !(cause instanceof IOException);
            if (isReply && String.valueOf(cause.getMessage()).matches("(?s)[A-Z]+ .*")) {
                return new ServerError(cause.getMessage());
            }
        }
        throw error;
    }

    @Override
    public void drop() {
        if (factory instanceof LettuceConnectionFactory lettuce) {
            lettuce.resetConnection();
        }
    }

    @Override
    public boolean canWait() {
        return false;
    }
}
