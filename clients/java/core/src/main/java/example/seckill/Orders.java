package example.seckill;

import java.nio.charset.Charset;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;

/**
 * Entries of an outbox for one worker, each at least once. A repeated entry has an equal (id, epoch,
 * rev) in its data. Acknowledge each. Only one thread may read; an interrupt ends it.
 *
 * <p>After an {@link Unanswered} reading can continue; a {@link SaleError} is final.
 */
public final class Orders implements Iterator<Orders.Order> {
    private static final int COUNT = 100;
    /** Failures in a row, before the caller gets the error. */
    private static final int ATTEMPTS = 5;
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private final Link link;
    private final Charset charset;
    private final String stream;
    private final String group;
    private final String name;
    private Duration idle = Duration.ofSeconds(60);
    private Duration block = Duration.ofSeconds(1);
    private boolean follow = true;
    private final Deque<Order> ready = new ArrayDeque<>();
    /** Trimmed entries of this reader that were already returned without fields. */
    private final Set<String> trimmed = new HashSet<>();
    /** This reader's pending entries come first, then other readers' old ones, then new ones. */
    private Stage stage = Stage.OWN;
    private String last = "0";
    private String cursor = "0-0";
    private long looked;
    private boolean hasGroup;
    private boolean isOver;
    private int failures;

    private enum Stage { OWN, LEFT, NEW }

    Orders(Link link, Charset charset, String stream, String group, String name) {
        this.link = link;
        this.charset = charset;
        this.stream = stream;
        this.group = group;
        this.name = name;
        if (stream == null || group == null || name == null) {
            throw new IllegalArgumentException("a stream, a group and a name");
        }
        List.of(stream, group, name).forEach(word -> Reply.bytes(word, charset));
    }

    /** Takes over entries that another reader left unacknowledged for this long; 60 seconds. */
    public Orders idle(Duration other) {
        idle = other;
        return this;
    }

    /** Time that one call waits for new entries; 1 second. */
    public Orders block(Duration other) {
        block = other;
        return this;
    }

    /** Whether to wait for new entries when all are read; true. */
    public Orders follow(boolean other) {
        follow = other;
        return this;
    }

    /**
     * An entry; its event is null if it was trimmed before anybody read it, and if somebody else wrote
     * it into the stream.
     */
    public final class Order {
        private final String id;
        private final Event event;

        private Order(String id, Event event) {
            this.id = id;
            this.event = event;
        }

        /** Its id in the stream. */
        public String id() {
            return id;
        }

        /** The event that this entry tells. */
        public Event event() {
            return event;
        }

        /** Acknowledges the entry. After Unanswered it may be delivered again. */
        public void ack() {
            for (int made = 1;; made++) {
                try {
                    send(TIMEOUT.dividedBy(ATTEMPTS), "XACK", stream, group, id);
                    return;
                } catch (Unanswered error) {
                    if (made == ATTEMPTS || !Attempts.sleep(Attempts.PAUSE.toNanos() * made)) {
                        throw error;
                    }
                }
            }
        }
    }

    @Override
    public boolean hasNext() {
        while (ready.isEmpty() && !isOver) {
            isOver = Thread.currentThread().isInterrupted();
            try {
                fill();
            } catch (SaleError error) {
                isOver = true;
                throw error;
            } catch (Unanswered error) {
                // Entries of the lost reply are now pending for this reader.
                stage = Stage.OWN;
                if (++failures % ATTEMPTS == 0) {
                    throw error;
                }
                isOver = !Attempts.sleep(Attempts.PAUSE.toNanos() * (failures % ATTEMPTS));
            }
        }
        return !ready.isEmpty();
    }

    @Override
    public Order next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        failures = 0;
        return ready.remove();
    }

    private void fill() {
        if (!hasGroup) {
            makeGroup();
        }
        switch (stage) {
            case OWN -> {
                if (read(last, null) == 0) {
                    stage = Stage.LEFT;
                }
            }
            case LEFT -> claim();
            case NEW -> {
                isOver |= read(">", follow ? block : null) == 0 && !follow;
                failures = 0;
                if (System.nanoTime() - looked >= idle.toNanos()) {
                    stage = Stage.LEFT;
                }
            }
        }
    }

    private void makeGroup() {
        try {
            send(TIMEOUT, "XGROUP", "CREATE", stream, group, "0", "MKSTREAM");
        } catch (SaleError error) {
            if (!error.code().equals("BUSYGROUP")) {
                throw error;
            }
        }
        hasGroup = true;
    }

    /** Returns the number of entries. */
    private int read(String after, Duration wait) {
        List<Object> words = new ArrayList<>(List.of("XREADGROUP", "GROUP", group, name, "COUNT", COUNT));
        words.addAll(wait == null ? List.of() : List.of("BLOCK", wait.toMillis()));
        words.addAll(List.of("STREAMS", stream, after));
        Object reply = send(wait == null ? TIMEOUT : TIMEOUT.plus(wait), words.toArray());
        if (reply == null || Reply.list(reply).isEmpty()) {
            return 0;
        }
        // A stream and its entries: in RESP3 a map of them, in RESP2 a list in a list.
        List<?> first = Reply.list(reply);
        List<?> entries = Reply.list(first.size() == 2 ? first.get(1) : Reply.at(Reply.list(first.get(0)), 1));
        entries.forEach(this::take);
        ready.stream().filter(order -> order.event() == null).forEach(order -> trimmed.add(order.id()));
        last = ready.isEmpty() ? last : ready.getLast().id();
        return entries.size();
    }

    private void claim() {
        List<?> reply = Reply.list(send(TIMEOUT, "XAUTOCLAIM", stream, group, name, idle.toMillis(), cursor,
                "COUNT", COUNT));
        Reply.list(Reply.at(reply, 1)).forEach(this::take);
        if (reply.size() > 2) {
            // Trimmed entries of this reader that it has already returned are left out.
            Reply.list(reply.get(2)).stream().map(id -> Reply.text(id, charset))
                    .filter(id -> !trimmed.remove(id)).forEach(id -> ready.add(new Order(id, null)));
        }
        cursor = Reply.text(reply.get(0), charset);
        if (cursor.equals("0-0")) {
            looked = System.nanoTime();
            stage = Stage.NEW;
        }
    }

    /** A trimmed entry has no fields. */
    private void take(Object entry) {
        // Redis 6.2 has a null instead of the entry.
        if (entry != null) {
            List<?> pair = Reply.list(entry);
            Object fields = Reply.at(pair, 1);
            boolean isThere = fields != null && !Reply.list(fields).isEmpty();
            ready.add(new Order(Reply.text(pair.get(0), charset), isThere ? event(fields) : null));
        }
    }

    /** Null for an entry that is no event: an exception would come again with each reading, for good. */
    private Event event(Object fields) {
        try {
            return Event.decode(fields, charset);
        } catch (IllegalArgumentException | IndexOutOfBoundsException foreign) {
            return null;
        }
    }

    /** Sends a command once. Entries of a lost reply are read again as pending ones. */
    private Object send(Duration within, Object... words) {
        byte[][] command = Arrays.stream(words).map(word -> Reply.bytes(word.toString(), charset))
                .toArray(byte[][]::new);
        var call = new Attempts.Call("", Reply.bytes(stream, charset), "", List.<byte[][]>of(command), Duration.ZERO);
        try {
            return Attempts.send(link, call, within).get(0);
        } catch (Link.ServerError error) {
            if (error.code().equals("NOGROUP")) {
                // The stream was deleted, or a failover lost the group.
                hasGroup = false;
            } else if (Attempts.isMistake(link, error)) {
                throw new SaleError(error);
            }
            throw new Unanswered("", 0, error);
        } catch (Exception error) {
            link.lost();
            throw new Unanswered("", 1, error);
        }
    }
}
