"""TigerFans' accounting with seckill: one sale for each class of tickets, one for the goodies.

The functions have the names and arguments of `tigerfans.model.accounting`. `db` is TigerFans' PostgreSQL
session and is not used. The order number is both user and REQ, so the library can repeat a call without an
answer, and no unit is taken twice.
"""

import asyncio
import os
import uuid

import redis.asyncio as redis
from seckill import AsyncSale

CAPACITY = {"A": 5_000_000, "B": 5_000_000, "goodie": 100_000}
HOLD_MS = 300_000
# Long enough to retry a call until a killed server is back.
PATIENCE = {"timeout_ms": 20_000, "attempts": 60}

_client = None


def _sale(name):
    global _client
    if _client is None:
        _client = redis.from_url(os.environ["SECKILL_URL"])
    return AsyncSale(_client, f"{{fans}}:{name}", **PATIENCE)


async def create_accounts(db):
    _sale("A")
    for name, capacity in CAPACITY.items():
        key = f"{{fans}}:{name}"
        await _client.execute_command("SECKILL.INIT", key, capacity, "HOLD", HOLD_MS)
    return True


async def initial_transfers(db):
    pass


async def hold_tickets(db, ticket_class, qty, timeout_seconds):
    order = f"{ticket_class}:{uuid.uuid4().hex}"
    ticket, goodie = await asyncio.gather(
        _sale(ticket_class).grab(order, order, qty=qty),
        _sale("goodie").grab(order, order),
    )
    return order, f"goodie:{order}", ticket.won, goodie.won


async def commit_order(db, ticket_hold_id, goodie_hold_id, ticket_class, qty, try_goodie):
    """RECLAIM: a late payment gets a unit if one is left."""
    calls = [_sale(ticket_class).confirm(ticket_hold_id, ticket_hold_id, reclaim=True)]
    if try_goodie:
        order = goodie_hold_id.removeprefix("goodie:")
        calls.append(_sale("goodie").confirm(order, order, reclaim=True))
    states = [answer.state for answer in await asyncio.gather(*calls)]
    return states[0] == "SOLD", states[1:] == ["SOLD"]


async def book_immediately(db, ticket_class, qty):
    order, goodie, has_ticket, has_goodie = await hold_tickets(db, ticket_class, qty, 0)
    if not has_ticket:
        await cancel_only_goodie(db, goodie, ticket_class)
        return order, goodie, False, False
    sold = await commit_order(db, order, goodie, ticket_class, qty, has_goodie)
    return order, goodie, *sold


async def cancel_order(db, ticket_hold_id, goodie_hold_id, ticket_class, qty):
    await _sale(ticket_class).cancel(ticket_hold_id, ticket_hold_id)
    await cancel_only_goodie(db, goodie_hold_id, ticket_class)


async def cancel_only_goodie(db, goodie_hold_id, ticket_class):
    order = goodie_hold_id.removeprefix("goodie:")
    await _sale("goodie").cancel(order, order)


async def compute_inventory(db):
    def seen(status):
        return {
            "capacity": status["supply"],
            "sold": status["sold"],
            "active_holds": status["held"],
            "available": status["available"],
            "sold_out": status["available"] == 0,
        }

    return {name: seen(await _sale(name).status()) for name in ("A", "B")}


async def count_goodies(db):
    return (await _sale("goodie").status())["sold"]
