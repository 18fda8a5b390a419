"""Executes for `make clients` one call for each JSON line on stdin, and prints the result as a
JSON line: see clients/cases.md."""

import asyncio
import dataclasses
import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import redis.asyncio
import wrong

import seckill


def plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        fields["won"] = getattr(value, "won", None)
        return {name: plain(field) for name, field in fields.items()}
    if hasattr(value, "_asdict"):
        return {name: plain(field) for name, field in value._asdict().items()}
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogateescape")
        return {"hex": raw.hex()} if raw != value.encode("utf-8", "replace") else value
    return value


def raw(value: Any) -> Any:
    """A decoded argument."""
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value


async def settled(value: Any) -> Any:
    return await value if asyncio.iscoroutine(value) else value


async def orders(sale: Any, key: str, ack: bool = False, **order: Any) -> Any:
    events = []
    given = sale.orders(key, follow=False, **order)
    async for one in given if isinstance(given, AsyncIterator) else later(given):
        events.append(plain(one.event))
        if ack:
            await settled(one.ack())
    return {"events": events}


async def later(given: Iterator[Any]) -> AsyncIterator[Any]:
    for one in given:
        yield one


async def run(told: dict[str, Any], client: Any, order: dict[str, Any], hook: Any) -> Any:
    call, key = order.pop("call"), order.pop("key")
    kind = seckill.AsyncSale if told["flavour"] == "async" else seckill.Sale
    kind = wrong.CLIENTS.get(told["flavour"], kind)
    if call == "answer":
        return getattr(kind, "answer", seckill.answer)(order["reply"])
    if call == "outbox":
        entries = await settled(client.xrange(key))
        decode = getattr(kind, "decode", seckill.decode)
        return {"events": [decode(fields) for _, fields in entries]}
    options = {name: order.pop(name) for name in ("timeout_ms", "attempts") if name in order}
    durable = seckill.Durable(**order.pop("durable")) if "durable" in order else None
    for name in {"user", "req"} & order.keys():
        order[name] = raw(order[name])
    if "parts" in order:
        part, key = seckill.home(key, order.pop("parts"), order["user"])
        if call == "home":
            return {"part": part}
    client = object() if order.pop("client", None) == "none" else client
    sale = kind(client, key, durable, on_attempt=hook, **options)
    if call == "orders":
        return await orders(sale, key, **order)
    answer = getattr(sale, call)(**order)
    if isinstance(answer, AsyncIterator | Iterator):
        rows = list(answer) if isinstance(answer, Iterator) else [row async for row in answer]
        ends = {"first": plain(rows[0]), "last": plain(rows[-1])} if rows else {}
        return {"count": len(rows), **ends}
    answer = await settled(answer)
    if call == "units":
        return {"units": answer}
    return {} if answer is None else answer


async def tell(told: dict[str, Any], client: Any, order: dict[str, Any]) -> dict[str, Any]:
    attempts: list[Any] = []
    try:
        answer = plain(await run(told, client, order, lambda *said: attempts.append(said[:3])))
    except seckill.SaleError as error:
        answer = {"error": "SaleError", "code": error.code}
    except seckill.Unanswered as error:
        answer = {"error": "Unanswered", "req": plain(error.req), "lost": error.lost}
    except TypeError:
        answer = {"error": "TypeError"}
    return {**answer, "attempts": attempts}


async def main() -> None:
    told = json.loads(sys.argv[1])
    place = redis.asyncio if told["flavour"] == "async" else redis
    options: dict[str, Any] = {
        "protocol": told["resp"],
        "decode_responses": told["text"],
        "encoding_errors": "surrogateescape",
    }
    if told["on"] == "sentinel":
        asked: Any = redis.asyncio.Sentinel if told["flavour"] == "async" else redis.Sentinel
        client = asked([("127.0.0.1", told["port"])], **options).master_for("mymaster")
    else:
        kind: Any = place.RedisCluster if told["on"] == "cluster" else place.Redis
        client = kind(host="127.0.0.1", port=told["port"], **options)
    for line in sys.stdin:
        print(json.dumps(await tell(told, client, json.loads(line))), flush=True)


asyncio.run(main())
