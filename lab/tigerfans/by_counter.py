"""TigerFans' accounting in PostgreSQL without overselling.

Each class of tickets is one row with the remaining units, changed by a conditional UPDATE. A hold is a
row whose primary key is the order number (row M16 of the lab: first the unique row, then the counter).
Each step is one round trip, by a function in the database. A call without an answer is repeated with its
order number, as the library of seckill does. The functions have the names and arguments of
`tigerfans.model.accounting`; `db` is TigerFans' own session and is not used.
"""

import asyncio
import os
import time
import uuid

import asyncpg

CAPACITY = {"A": 5_000_000, "B": 5_000_000, "goodie": 100_000}
HOLD_S = 300
PATIENCE_S = 20

SCHEMA = """
CREATE TABLE IF NOT EXISTS counters (name text PRIMARY KEY, units_left bigint CHECK (units_left >= 0));
CREATE TABLE IF NOT EXISTS counted_holds (
    name text, id text, qty int, state text NOT NULL, until timestamptz, PRIMARY KEY (name, id));
CREATE INDEX IF NOT EXISTS counted_holds_due ON counted_holds (name, until) WHERE state = 'held';

-- Gives the units of a few holds back whose time is over.
CREATE OR REPLACE FUNCTION return_due(n text) RETURNS void LANGUAGE sql AS $$
    WITH due AS (
        SELECT id FROM counted_holds WHERE name = n AND state = 'held' AND until <= clock_timestamp()
        ORDER BY until LIMIT 100 FOR UPDATE SKIP LOCKED),
    ended AS (
        UPDATE counted_holds h SET state = 'ended' FROM due WHERE h.name = n AND h.id = due.id
        RETURNING h.qty)
    UPDATE counters SET units_left = units_left + (SELECT sum(qty) FROM ended)
    WHERE name = n AND EXISTS (SELECT FROM ended)
$$;

CREATE OR REPLACE FUNCTION hold(n text, order_id text, q int, seconds float) RETURNS bool
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO counted_holds
        VALUES (n, order_id, q, 'held', clock_timestamp() + make_interval(secs => seconds))
        ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN EXISTS (SELECT FROM counted_holds
            WHERE name = n AND id = order_id AND state IN ('held', 'sold'));
    END IF;
    UPDATE counters SET units_left = units_left - q WHERE name = n AND units_left >= q;
    IF NOT FOUND THEN
        PERFORM return_due(n);
        UPDATE counters SET units_left = units_left - q WHERE name = n AND units_left >= q;
    END IF;
    IF NOT FOUND THEN
        DELETE FROM counted_holds WHERE name = n AND id = order_id;
        RETURN false;
    END IF;
    RETURN true;
END $$;

CREATE OR REPLACE FUNCTION pay(n text, order_id text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE was text;
BEGIN
    SELECT CASE WHEN state = 'held' AND until <= clock_timestamp() THEN 'ended' ELSE state END INTO was
        FROM counted_holds WHERE name = n AND id = order_id FOR UPDATE;
    IF was = 'held' THEN
        UPDATE counted_holds SET state = 'sold' WHERE name = n AND id = order_id;
    END IF;
    RETURN coalesce(was IN ('held', 'sold'), false);
END $$;

CREATE OR REPLACE FUNCTION give_back(n text, order_id text) RETURNS void LANGUAGE sql AS $$
    WITH ended AS (
        UPDATE counted_holds SET state = 'ended' WHERE name = n AND id = order_id AND state = 'held'
        RETURNING qty)
    UPDATE counters SET units_left = units_left + (SELECT sum(qty) FROM ended)
    WHERE name = n AND EXISTS (SELECT FROM ended)
$$;
"""

_pool = None


async def _connections():
    global _pool
    if _pool is None:
        size = int(os.environ.get("DB_POOL_SIZE", "10"))
        _pool = await asyncpg.create_pool(os.environ["COUNTER_URL"], min_size=0, max_size=size)
    return _pool


async def _ask(sql, *words):
    """Retries until the server answers, because it may be restarting."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await (await _connections()).fetchrow(sql, *words)
        except (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError,
                asyncpg.CannotConnectNowError, asyncpg.AdminShutdownError):
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.05)


async def create_accounts(db):
    async with (await _connections()).acquire() as connection:
        await connection.execute(SCHEMA)
        rows = list(CAPACITY.items())
        put = "INSERT INTO counters VALUES ($1, $2) ON CONFLICT DO NOTHING"
        await connection.executemany(put, rows)
    return True


async def initial_transfers(db):
    pass


async def hold_tickets(db, ticket_class, qty, timeout_seconds):
    """One transaction. It always locks its two rows in one order, so there is no deadlock."""
    order = uuid.uuid4().hex
    ticket, goodie = await _ask(
        "SELECT hold($1, $2, $3, $4), hold('goodie', $2, 1, $4)",
        ticket_class, order, qty, float(timeout_seconds or HOLD_S))
    return order, f"goodie:{order}", ticket, goodie


async def commit_order(db, ticket_hold_id, goodie_hold_id, ticket_class, qty, try_goodie):
    if not try_goodie:
        return (await _ask("SELECT pay($1, $2)", ticket_class, ticket_hold_id))[0], False
    both = "SELECT pay($1, $2), pay('goodie', $2)"
    return tuple(await _ask(both, ticket_class, ticket_hold_id))


async def book_immediately(db, ticket_class, qty):
    order, goodie, has_ticket, has_goodie = await hold_tickets(db, ticket_class, qty, HOLD_S)
    if not has_ticket:
        await cancel_only_goodie(db, goodie, ticket_class)
        return order, goodie, False, False
    sold = await commit_order(db, order, goodie, ticket_class, qty, has_goodie)
    return order, goodie, *sold


async def cancel_order(db, ticket_hold_id, goodie_hold_id, ticket_class, qty):
    await _ask("SELECT give_back($1, $2), give_back('goodie', $2)", ticket_class, ticket_hold_id)


async def cancel_only_goodie(db, goodie_hold_id, ticket_class):
    await _ask("SELECT give_back('goodie', $1)", goodie_hold_id.removeprefix("goodie:"))


async def compute_inventory(db):
    def seen(row):
        sold, held, left = row
        return {
            "capacity": sold + held + left,
            "sold": sold,
            "active_holds": held,
            "available": left,
            "sold_out": left == 0,
        }

    sql = """SELECT coalesce(sum(qty) FILTER (WHERE state = 'sold'), 0)::bigint,
        coalesce(sum(qty) FILTER (WHERE state = 'held'), 0)::bigint,
        (SELECT units_left FROM counters WHERE name = $1) FROM counted_holds WHERE name = $1"""
    return {name: seen(await _ask(sql, name)) for name in ("A", "B")}


async def count_goodies(db):
    sql = "SELECT count(*) FROM counted_holds WHERE name = 'goodie' AND state = 'sold'"
    return (await _ask(sql))[0]
