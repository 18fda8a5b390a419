"""Does for `make clients` what it is told, a JSON object a line, and tells what came of it."""

import asyncio
import dataclasses
import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

import seckill


class WrongSale(seckill.Sale):
    """Asks again with another REQ when there was no answer: the mistake that the table must see."""

    # The library below would repeat the call as it was.
    retry = Retry(NoBackoff(), 0)

    def grab(self, user: str, req: str = "", **more: Any) -> seckill.Answer:  # type: ignore[override]
        self.calls.attempts = 1
        for _ in range(5):
            try:
                return super().grab(user, req, **more)
            except seckill.Unanswered:
                req = ""
        raise seckill.Unanswered("gave up", req)


def plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {**fields, "won": getattr(value, "won", None)}
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


async def run(told: dict[str, Any], order: dict[str, Any]) -> Any:
    client, call, key = order.pop("client"), order.pop("call"), order.pop("key")
    if call == "outbox":
        entries = client.xrange(key)
        entries = entries if isinstance(entries, list) else await entries
        return {"events": [seckill.decode(fields) for _, fields in entries]}
    durable = seckill.Durable(**order.pop("durable")) if "durable" in order else None
    if isinstance(order.get("user"), dict):
        order["user"] = bytes.fromhex(order["user"]["hex"])
    if "parts" in order:
        part, key = seckill.home(key, order.pop("parts"), order["user"])
        if call == "home":
            return {"part": part}
    kind = {"async": seckill.AsyncSale, "wrong": WrongSale}.get(told["flavour"], seckill.Sale)
    answer = getattr(kind(client, key, durable), call)(**order)
    if isinstance(answer, AsyncIterator | Iterator):
        rows = list(answer) if isinstance(answer, Iterator) else [row async for row in answer]
        return {"count": len(rows), "first": plain(rows[0]), "last": plain(rows[-1])}
    return await answer if asyncio.iscoroutine(answer) else answer


async def main() -> None:
    told = json.loads(sys.argv[1])
    kind = redis.asyncio.Redis if told["flavour"] == "async" else redis.Redis
    more: Any = {"retry": WrongSale.retry} if told["flavour"] == "wrong" else {}
    client = kind(port=told["port"], protocol=told["resp"], decode_responses=told["text"],
                  encoding_errors="surrogateescape", **more)
    for line in sys.stdin:
        try:
            answer = plain(await run(told, {"client": client, **json.loads(line)}))
        except seckill.SaleError as error:
            answer = {"error": "SaleError", "code": error.code}
        except seckill.Unanswered as error:
            answer = {"error": "Unanswered", "req": error.req}
        print(json.dumps(answer), flush=True)


asyncio.run(main())
