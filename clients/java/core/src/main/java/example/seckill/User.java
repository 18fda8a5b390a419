package example.seckill;

import java.util.List;

/**
 * The reply to USER.
 *
 * @param allowance units that the user may still have; -1 without a limit
 * @param admission what GRAB would judge now: OK, DENIED or BUSY
 * @param grants the newest, newest first
 */
public record User(long allowance, String admission, List<Row> grants) {}
