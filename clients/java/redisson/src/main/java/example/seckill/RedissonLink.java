package example.seckill;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.redisson.api.RScript;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.client.codec.ByteArrayCodec;

/**
 * A link with Redisson, by a script of one line, because Redisson's API has no other way to send an
 * unknown command. A script can't call WAIT, so durable is not supported.
 */
public final class RedissonLink implements Link {
    private static final String SCRIPT = "return {redis.call(unpack(ARGV))}";
    /** Redisson 4 calls this type LIST, older versions MULTI. */
    private static final RScript.ReturnType LIST = Stream.of(RScript.ReturnType.values())
            .filter(type -> Set.of("LIST", "MULTI").contains(type.name())).findFirst().orElseThrow();
    private final RedissonClient redisson;

    /** The application's own client. */
    public RedissonLink(RedissonClient redisson) {
        this.redisson = redisson;
    }

    @Override
    public List<Object> send(byte[] key, List<byte[][]> commands, Duration within) throws Exception {
        List<Object> replies = new ArrayList<>();
        for (byte[][] words : commands) {
            String name = new String(key, StandardCharsets.UTF_8);
            try {
                List<Object> told = redisson.getScript(ByteArrayCodec.INSTANCE)
                        .<List<Object>>evalAsync(name, RScript.Mode.READ_WRITE, SCRIPT,
                                LIST, List.of(name), (Object[]) words)
                        .get(within.toNanos(), TimeUnit.NANOSECONDS);
                replies.add(told.isEmpty() ? null : told.get(0));
            } catch (ExecutionException error) {
                return Collections.singletonList(refusal(error));
            }
        }
        return replies;
    }

    private static ServerError refusal(ExecutionException error) throws ExecutionException {
        if (error.getCause() instanceof RedisException refused
                && String.valueOf(refused.getMessage()).matches("(?s)[A-Z]+ .*")) {
            return new ServerError(refused.getMessage());
        }
        throw error;
    }

    @Override
    public boolean mayBlock() {
        return false;
    }

    @Override
    public boolean canWait() {
        return false;
    }
}
