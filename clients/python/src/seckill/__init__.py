"""Buys from seckill, a Redis module for flash sales, by redis-py: Sale, or AsyncSale for asyncio.
An answer is a value, won or not. SaleError: nothing has happened. Unanswered: nobody knows, so ask
again with its `req`, which never takes twice. See docs/clients.md."""

import asyncio
import json
import secrets
import time
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar, cast, get_args

import redis.client

UTF8 = ("utf-8", "surrogateescape")  # Ids that are not UTF-8 come through, and back, unharmed.
Text = str | bytes
State = Literal["HELD", "SOLD", "CANCELLED", "EXPIRED", "REFUNDED", "NOGRANT"]
Outcome = Literal["GRANTED", "ALREADY", "REPLAY", "OVERLIMIT", "SOLDOUT", "SHORT", "NOTOPEN",
                  "CLOSED", "PAUSED", "DENIED", "BUSY", "WAITING"]
FIELDS = {**dict.fromkeys(get_args(State), "state seq qty deadline"),
          **dict.fromkeys(get_args(Outcome), "outcome"),
          **dict.fromkeys(("ALREADY", "REPLAY"), "outcome seq qty state deadline"),
          "GRANTED": "outcome seq qty state deadline available", "OVERLIMIT": "outcome allowance",
          "SOLDOUT": "outcome held", "SHORT": "outcome available", "NOTOPEN": "outcome opens_in"}
# Errors that come however often one asks. Others pass, and may hide what was granted before.
MISTAKES = "ERR WRONGTYPE NOSALE REQMISMATCH AMBIGUOUS WRONGPART NOPERM NOAUTH".split()


class SaleError(Exception):
    """The server refused the call and nothing has happened; `code` is the error's first word."""
    code = property(lambda self: str(self).split(" ", 1)[0])


class Unanswered(Exception):
    """Nobody knows whether it happened; the same call with this `req` tells and repeats nothing."""
    req = property(lambda self: str(self.args[1]))


# Answers say whether so many replicas have the grant; the mark is a counter on the sale's node.
Durable = NamedTuple("Durable", [("mark", str), ("replicas", int), ("timeout_ms", int)])


@dataclass(frozen=True)
class Answer:
    """What GRAB, CONFIRM, CANCEL and EXTEND tell; what is not told is None."""
    outcome: Outcome | State  # Of a grab; of the others the state.
    req: str = ""
    seq: int | None = None
    qty: int | None = None
    state: State | None = None
    deadline: int | None = None
    available: int | None = None
    held: int | None = None
    allowance: int | None = None
    opens_in: int | None = None
    lost: int = 0  # Attempts without an answer. After a refusal one may still arrive: cancel.
    durable: bool | None = None
    @property
    def won(self) -> bool:
        return self.state in ("HELD", "SOLD")


Row = NamedTuple("Row", [("seq", int), ("user", str), ("qty", int), ("state", State), ("at", int),
                         ("deadline", int), ("req", str | None), ("epoch", int), ("round", int)])
# An allowance of -1 is no limit; admission is OK, DENIED or BUSY.
User = NamedTuple("User", [("allowance", int), ("admission", str), ("grants", list[Row])])
# An entry of the outbox. What came twice is known by the id, epoch and rev in its data.
Event = NamedTuple("Event", [("event", str), ("sale", str), ("data", dict[str, Any]),
                             ("user", str | None), ("req", str | None), ("outbox", str | None),
                             ("split", str | None)])
T = TypeVar("T")
P = ParamSpec("P")


def decode(fields: Mapping[Any, Any] | list[Any]) -> Event:
    """Reads the fields of a stream entry, a map or a flat list, of bytes or text."""
    pairs = fields.items() if isinstance(fields, Mapping) else zip(fields[::2], fields[1::2])
    told = {_text(name): _text(value) for name, value in pairs}
    told["data"] = json.loads(told["data"])
    return Event(*cast(Any, map(told.get, Event._fields)))


def home(name: str, parts: int, user: Text) -> tuple[int, str]:
    """The part of a split sale that is this user's, and its key."""
    part = zlib.crc32(user.encode(*UTF8) if isinstance(user, str) else user) % parts
    return part, f"{name}:{{p{part}}}"


def _text(value: Any) -> Any:
    return value.decode(*UTF8) if isinstance(value, bytes) else value


def _answer(reply: Any) -> Answer:
    words = [_text(word) for word in reply]
    names = FIELDS[words[0]].split()
    told = dict(zip(names, words))
    if len(told) < len(names) or told.get("state", "HELD") not in get_args(State):
        raise ValueError(f"not an answer: {reply}")
    return Answer(**{"outcome": words[0], **told})


class AsyncSale:  # Over a redis.asyncio.Redis.
    def __init__(self, client: Any, key: Text, durable: Durable | None = None, attempts: int = 5):
        self.client, self.key, self.durable, self.attempts = client, key, durable, attempts

    async def grab(self, user: Text, req: Text = "", qty: int = 1, upto: int = 0) -> Answer:
        """Asks for units with one REQ for all attempts: the order's, or one that is made here."""
        # One is what GRAB takes by itself, and a sale that draws amounts takes no other word.
        units = ("UPTO", upto) if upto else () if qty == 1 else ("QTY", qty)
        return await self._change("GRAB", user, req or secrets.token_hex(16), *units)

    async def confirm(self, user: Text, req: Text = "", reclaim: bool = False) -> Answer:
        return await self._change("CONFIRM", user, req, *["RECLAIM"][:reclaim])
    async def cancel(self, user: Text, req: Text = "") -> Answer:
        return await self._change("CANCEL", user, req)
    async def extend(self, user: Text, ms: int, req: Text = "") -> Answer:
        return await self._change("EXTEND", user, req, ms)
    async def status(self) -> dict[str, Any]:
        return dict((await self._ask(json.loads, "", ("SECKILL.STATUS", self.key, "JSON")))[0])
    async def user(self, user: Text) -> User:
        told = (await self._ask(list, "", ("SECKILL.USER", self.key, user)))[0]
        return User(told[0], _text(told[1]), [Row(*map(_text, row)) for row in told[2]])

    async def page(self, state: str, after: int) -> tuple[int | None, list[Row]]:
        command = ("SECKILL.WINNERS", self.key, after, "COUNT", 1000, "STATE", state)
        (after, rows), *_ = await self._ask(list, "", command)
        return after or None, [Row(*map(_text, row)) for row in rows]

    async def winners(self, state: str = "LIVE", after: int | None = 0) -> AsyncIterator[Row]:
        while after is not None:
            after, rows = await self.page(state, after)
            for row in rows:
                yield row

    async def _change(self, name: str, user: Text, req: Text, *more: Any) -> Answer:
        """Durable: the repeated call shows that this server has the grant, and the INCR comes after
        it, so the WAIT is for both. (Alone behind a REPLAY it would wait for nothing.)"""
        named = _text(req)
        command = (f"SECKILL.{name}", self.key, user, *more, *(("REQ", req) if req else ()))
        told, _, lost = await self._ask(_answer, named, command)
        if self.durable and told.state not in (None, "NOGRANT"):
            mark, replicas, timeout = self.durable
            both = (command, ("INCR", mark), ("WAIT", replicas, timeout))
            again, replies, _ = await self._ask(_answer, named, *both, lost=1)
            same = (again.seq, again.state) == (told.seq, told.state)
            told = replace(told if same else again, durable=replies[2] >= replicas)
        return cast(Answer, replace(told, req=named, lost=lost))

    async def _ask(self, read: Callable[[Any], T], req: str, *calls: Any, lost: int = 0) -> Any:
        """Until there is an answer. An error after a lost attempt says nothing of that attempt."""
        for attempt in range(self.attempts):
            try:
                replies = await self._send(calls, 0.05 * attempt)
                return read(replies[0]), replies, lost
            except SaleError as error:
                if lost:
                    raise Unanswered(f"ask again with the same REQ: {error}", req) from error
                raise
            except (redis.RedisError, OSError, ValueError, LookupError, TypeError) as error:
                why, lost = error, lost + 1
        raise Unanswered(f"ask again with the same REQ: {why}", req) from why

    async def _send(self, commands: Any, pause: float) -> list[Any]:
        is_sync = isinstance(self.client, redis.Redis)
        time.sleep(pause) if is_sync else await asyncio.sleep(pause)
        pipe = self.client.pipeline(transaction=False)
        for command in commands:
            words = (w.encode(*UTF8) if isinstance(w, str) else w for w in command)
            pipe.execute_command(*words, **{redis.client.NEVER_DECODE: True})
        replies = pipe.execute(raise_on_error=False)
        for reply in (replies := list(replies if is_sync else await replies)):
            if isinstance(reply, redis.RedisError):
                code, text = getattr(reply, "status_code", None) or "ERR", str(reply)
                said = SaleError(text if text.split(" ")[0].isupper() else f"{code} {text}")
                raise said if said.code in MISTAKES else reply
        return replies


def _sync(call: Callable[Concatenate[AsyncSale, P], Coroutine[Any, Any, T]]
          ) -> Callable[Concatenate["Sale", P], T]:
    def run(sale: "Sale", /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            call(sale.calls, *args, **kwargs).send(None)
        except StopIteration as done:  # Over a synchronous client nothing is awaited.
            return cast(T, done.value)
        raise TypeError("this client is not synchronous")
    return run


class Sale:  # Over a redis.Redis.
    def __init__(self, client: Any, key: Text, durable: Durable | None = None, attempts: int = 5):
        self.calls = AsyncSale(client, key, durable, attempts)
    grab, confirm, cancel = _sync(AsyncSale.grab), _sync(AsyncSale.confirm), _sync(AsyncSale.cancel)
    extend, status, user = _sync(AsyncSale.extend), _sync(AsyncSale.status), _sync(AsyncSale.user)
    page = _sync(AsyncSale.page)
    def winners(self, state: str = "LIVE", after: int | None = 0) -> Iterator[Row]:
        while after is not None:
            after, rows = self.page(state, after)
            yield from rows
