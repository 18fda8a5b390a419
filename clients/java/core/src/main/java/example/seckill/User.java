package example.seckill;

import java.util.List;

/**
 * The reply to USER.
 *
 * @param allowance units that the user may still have; -1 without a limit
 * @param admission the admission of a GRAB now: OK, DENIED or BUSY
 * @param grants the newest grants, newest first
 */
public record User(long allowance, String admission, List<Row> grants) {}
