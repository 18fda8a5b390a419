package example.seckill;

/**
 * A place on the waiting list.
 *
 * @param ticket the user's number
 * @param ahead number of waiters before the user
 * @param unitsAhead units that these waiters ask for
 */
public record Place(long ticket, long ahead, long unitsAhead) {}
