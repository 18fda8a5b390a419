package example.seckill;

/**
 * A place on the waiting list.
 *
 * @param ticket the user's number
 * @param ahead who waits before them
 * @param unitsAhead and for how many units
 */
public record Place(long ticket, long ahead, long unitsAhead) {}
