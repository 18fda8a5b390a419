package example.seckill;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Finds the node that has a key, and follows MOVED and ASK. Clients that do this themselves also retry
 * lost calls without reporting it, and their own maps of slots may be out of date: a replica that has
 * taken over from a dead primary is found by asking the other nodes.
 */
final class Cluster {
    private static final int REDIRECTS = 5;
    private static final byte[][] ASKING = words("ASKING");
    private static final byte[][] SLOTS = words("CLUSTER", "SLOTS");
    private final Nodes nodes;
    private final Exchange exchange;
    /** Owners of slots, as host:port. */
    private final Map<Integer, String> owners = new ConcurrentHashMap<>();
    /** Nodes that have not replied since they were sent something. They are asked last. */
    private final Set<String> silent = ConcurrentHashMap.newKeySet();

    Cluster(Nodes nodes, Exchange exchange) {
        this.nodes = nodes;
        this.exchange = exchange;
    }

    /** The nodes that the client knows. */
    interface Nodes {
        /** As host:port. `ends` is a time of {@link System#nanoTime}. */
        Collection<String> known(long ends) throws Exception;
    }

    /** One connection to one node. */
    interface Exchange {
        /** Sends the commands to the node at host:port, and returns a reply for each. */
        List<Object> at(String address, byte[] key, List<byte[][]> commands, long ends) throws Exception;
    }

    List<Object> send(byte[] key, List<byte[][]> commands, long ends) throws Exception {
        int slot = Slot.of(key);
        String at = owner(slot, key, ends);
        List<Object> replies = ask(at, key, commands, ends);
        for (int made = 0; made < REDIRECTS; made++) {
            Link.ServerError redirect = redirect(replies);
            if (redirect == null) {
                break;
            }
            // MOVED 3999 10.0.0.1:6379
            at = address(redirect.getMessage().split(" ")[2], at);
            if (redirect.code().equals("MOVED")) {
                owners.put(slot, at);
                replies = ask(at, key, commands, ends);
            } else {
                replies = askAsking(at, key, commands, ends);
            }
        }
        return replies;
    }

    /** Forgets all owners, so that the next call asks for its owner. */
    void forget() {
        owners.clear();
    }

    private List<Object> ask(String at, byte[] key, List<byte[][]> commands, long ends) throws Exception {
        if (ends - System.nanoTime() <= 0) {
            // Who called may have an answer already, by a later attempt.
            throw new TimeoutException("no time is left");
        }
        silent.add(at);
        List<Object> replies = exchange.at(at, key, commands, ends);
        silent.remove(at);
        return replies;
    }

    private List<Object> askAsking(String at, byte[] key, List<byte[][]> commands, long ends) throws Exception {
        List<byte[][]> all = commands.stream().flatMap(words -> Stream.of(ASKING, words)).toList();
        List<Object> replies = ask(at, key, all, ends);
        return IntStream.range(0, commands.size()).mapToObj(number -> replies.get(2 * number + 1)).toList();
    }

    /** The owner of a slot. If it is unknown, asks one node after the other. */
    private String owner(int slot, byte[] key, long ends) throws Exception {
        String known = owners.get(slot);
        if (known != null) {
            return known;
        }
        Set<String> last = Set.copyOf(silent);
        List<String> all = new ArrayList<>(nodes.known(ends));
        // A node that is cut off from the others still names the owner of yesterday: not always the same one.
        Collections.shuffle(all);
        all.sort(Comparator.comparing(last::contains));
        Exception why = new IOException("no node of the cluster is known");
        for (int at = 0; at < all.size(); at++) {
            long now = System.nanoTime();
            long part = (ends - now) / (all.size() - at);
            try {
                List<Object> map = ask(all.get(at), key, List.<byte[][]>of(SLOTS), now + part);
                String owner = owner(slot, map.get(0), all.get(at));
                owners.put(slot, owner);
                return owner;
            } catch (InterruptedException stopped) {
                throw stopped;
            } catch (Exception next) {
                why = next;
            }
        }
        throw why;
    }

    /** Finds the owner in a reply to CLUSTER SLOTS: rows of first slot, last slot, owner, replicas. */
    private static String owner(int slot, Object map, String asked) throws Exception {
        if (map instanceof Link.ServerError refused) {
            throw refused;
        }
        for (Object row : Reply.list(map)) {
            List<?> cells = Reply.list(row);
            if (Reply.number(cells.get(0)) <= slot && slot <= Reply.number(cells.get(1))) {
                List<?> owner = Reply.list(cells.get(2));
                String host = Reply.text(owner.get(0), StandardCharsets.UTF_8);
                return address((host == null ? "" : host) + ":" + Reply.number(owner.get(1)), asked);
            }
        }
        throw new IOException("no node of the cluster has slot " + slot);
    }

    /** An address without a host is on the host of the node that named it. */
    private static String address(String named, String by) {
        boolean isWhole = named.lastIndexOf(':') > 0;
        return isWhole ? named : by.substring(0, by.lastIndexOf(':')) + named;
    }

    private static Link.ServerError redirect(List<Object> replies) {
        for (Object reply : replies) {
            if (reply instanceof Link.ServerError error && Set.of("MOVED", "ASK").contains(error.code())) {
                return error;
            }
        }
        return null;
    }

    private static byte[][] words(String... words) {
        return Stream.of(words).map(String::getBytes).toArray(byte[][]::new);
    }
}
