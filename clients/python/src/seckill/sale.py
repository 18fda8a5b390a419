"""The calls of one sale, with a synchronous or an asynchronous client."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import redis
from redis.crc import key_slot

from .links import ERRORS, FULL, UNSURE, Links, code_of
from .orders import Order, Reader
from .tables import MISTAKES, Outcome, Settled
from .words import (
    UTF8,
    Answer,
    Durable,
    MultiAnswer,
    Place,
    Row,
    SaleError,
    Text,
    Unanswered,
    User,
    answer,
    answers,
    row,
    text,
)

T = TypeVar("T")
P = ParamSpec("P")
PAUSE_S = 0.05
# Called after each attempt: command, first word of the reply or LOST, attempts lost so far, ms.
OnAttempt = Callable[[str, str, int, float], Any]


def _id(name: str, value: Any, optional: bool = False) -> Any:
    if not isinstance(value, str | bytes) and not (optional and value is None):
        raise TypeError(f"{name} must be str or bytes, not {type(value).__name__}")
    return value


def _made(req: Any) -> Any:
    """The REQ, or a new one if it is missing or empty. (0 and False are mistakes, not empty.)"""
    return _id("req", req, True) or secrets.token_hex(16)


def _number(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be int, not {type(value).__name__}")
    return value


def _bytes(word: Any) -> bytes:
    return word if isinstance(word, bytes) else str(word).encode(*UTF8)


def _grants(told: Any) -> list[tuple[Any, ...]]:
    """The grants in an answer."""
    each = told.grants if isinstance(told, MultiAnswer) else [told]
    words = [(one.seq, one.qty, one.state, one.deadline_ms, one.units) for one in each]
    return [grant for grant in words if grant[0] and grant[2]]


class AsyncSale:
    """One sale, with a client of redis.asyncio. `timeout_ms` is for a call and its attempts."""

    def __init__(
        self,
        client: Any,
        key: Text,
        durable: Durable | None = None,
        *,
        timeout_ms: int = 2000,
        attempts: int = 5,
        on_attempt: OnAttempt | None = None,
    ):
        self.links, self.key = Links.of(client), _id("key", key)
        if durable is not None and not isinstance(durable, Durable):
            raise TypeError(f"durable must be a Durable, not {type(durable).__name__}")
        keys = [_bytes(key), _bytes(durable.mark if durable else key)]
        if self.links.is_cluster and len(set(map(key_slot, keys))) > 1:
            raise TypeError("in a cluster the mark must be in the sale's slot: use {...}")
        self.client, self.durable, self.on_attempt = client, durable, on_attempt
        self.timeout_ms, self.attempts = timeout_ms, max(_number("attempts", attempts), 1)
        _number("timeout_ms", timeout_ms)

    async def grab(
        self,
        user: Text,
        req: Text | None = None,
        qty: int | None = None,
        upto: int | None = None,
        units: Sequence[int] | None = None,
        adjacent: bool = False,
    ) -> Answer[Outcome]:
        """Asks for units. All attempts have one REQ: the order's, or a new one. In a sale with
        NUMBERED `units` are exactly these numbers, and `adjacent` means consecutive numbers."""
        words = self._asked(qty, upto, units, adjacent)
        return await self._change("GRAB", user, _made(req), *words)

    async def wait(
        self,
        user: Text,
        req: Text | None = None,
        qty: int | None = None,
        until_ms: int | None = None,
    ) -> Answer[Outcome]:
        """Grabs, or joins the waiting list if nothing is left."""
        until = [] if until_ms is None else ["UNTIL", _number("until_ms", until_ms)]
        words = [*self._qty(qty), "WAIT", *until]
        return await self._change("GRAB", user, _made(req), *words)

    async def confirm(
        self,
        user: Text,
        req: Text | None = None,
        reclaim: bool = False,
        keep: int | Sequence[int] | None = None,
    ) -> Answer[Settled]:
        """keep, here and below: this many units, or the units with these numbers, stay; the others
        are returned."""
        return await self._change("CONFIRM", user, req, *["RECLAIM"][:reclaim], *self._keep(keep))

    async def cancel(
        self, user: Text, req: Text | None = None, keep: int | Sequence[int] | None = None
    ) -> Answer[Settled]:
        return await self._change("CANCEL", user, req, *self._keep(keep))

    async def extend(self, user: Text, ms: int, req: Text | None = None) -> Answer[Settled]:
        return await self._change("EXTEND", user, req, _number("ms", ms))

    async def refund(
        self, user: Text, req: Text | None = None, keep: int | Sequence[int] | None = None
    ) -> Answer[Settled]:
        return await self._change("REFUND", user, req, *self._keep(keep))

    async def mgrab(
        self,
        user: Text,
        others: Sequence[Text],
        req: Text | None = None,
        qty: int | Sequence[int] | None = None,
    ) -> MultiAnswer:
        """Units of this sale and others in its slot, all or none. qty: one for all, or a list."""
        keys = [self.key, *(_id("a key", other) for other in others)]
        each = [qty] if qty is None or isinstance(qty, int) else qty
        units = [] if each in ([None], [1]) else ["QTY", *(_number("qty", n) for n in each)]
        named = _made(req)
        command = ["SECKILL.MGRAB", _id("user", user), len(keys), *keys, *units, "REQ", named]
        return cast(MultiAnswer, await self._sure("MGRAB", answers, command, text(named)))

    async def status(self) -> dict[str, Any]:
        return dict(await self._read("STATUS", json.loads, "JSON"))

    async def units(self, first: int = 1, count: int = 1000) -> str:
        """A character for each number from the first on: "." free, "h" held, "s" sold."""
        words = [_number("first", first), "COUNT", _number("count", count)]
        return str(await self._read("UNITS", text, *words))

    async def unit(self, unit: int) -> Row | None:
        """The grant that has this number."""
        number = _number("unit", unit)
        return await self._read("UNIT", lambda told: row(told) if told else None, number)

    async def user(self, user: Text) -> User:
        return cast(
            User,
            await self._read(
                "USER",
                lambda told: User(told[0], text(told[1]), [row(grant) for grant in told[2]]),
                _id("user", user),
            ),
        )

    async def place(self, user: Text) -> Place | None:
        """The user's place on the waiting list; None if the user is not on it."""

        def read(told: Any) -> Place | None:
            return Place(*told[1:4]) if text(told[0]) == "WAITING" else None

        return cast(Place | None, await self._read("PLACE", read, _id("user", user)))

    async def page(self, state: str, after: int) -> tuple[int | None, list[Row]]:
        after, rows, *_ = await self._read("WINNERS", list, after, "COUNT", 1000, "STATE", state)
        return after or None, [row(grant) for grant in rows]

    async def winners(self, state: str = "LIVE", after: int | None = 0) -> AsyncIterator[Row]:
        while after is not None:
            after, rows = await self.page(state, after)
            for found in rows:
                yield found

    async def orders(
        self,
        stream: Text,
        group: Text,
        name: Text,
        *,
        idle_ms: int = 60_000,
        block_ms: int = 1000,
        follow: bool = True,
    ) -> AsyncIterator[Order]:
        """Entries of this sale's outbox; acknowledge each with `await order.ack()`."""
        reader = Reader(self, stream, group, name, idle_ms, block_ms if follow else None)
        while (batch := await reader.batch()) or follow:
            for identity, event in batch:
                yield Order(identity, event, partial(reader.ack, identity))

    def _asked(self, qty: Any, upto: Any, units: Any, adjacent: bool) -> list[Any]:
        if adjacent + sum(way is not None for way in (upto, units)) > 1 or None not in (qty, units):
            raise TypeError("units are asked for in one way: by qty, upto, units or adjacent")
        if units is not None:
            if isinstance(units, str | bytes):
                raise TypeError("units must be numbers")
            return ["UNITS", *(_number("units", unit) for unit in units)]
        if adjacent:
            return ["QTY", 1 if qty is None else _number("qty", qty), "ADJACENT"]
        return self._qty(qty) if upto is None else ["UPTO", _number("upto", upto)]

    def _qty(self, qty: int | None) -> list[Any]:
        # The default of GRAB is one unit; a sale that draws amounts accepts no QTY.
        return [] if qty is None or _number("qty", qty) == 1 else ["QTY", qty]

    def _keep(self, keep: Any) -> list[Any]:
        if isinstance(keep, Sequence) and not isinstance(keep, str | bytes):
            return ["KEEP", "UNITS", *(_number("keep", unit) for unit in keep)]
        return [] if keep is None else ["KEEP", _number("keep", keep)]

    async def _read(self, name: str, read: Callable[[Any], T], *words: Any) -> T:
        command = [f"SECKILL.{name}", self.key, *words]
        return (await self.ask(name, read, "", [command]))[0]

    async def _change(self, name: str, user: Text, req: Text | None, *more: Any) -> Answer[Any]:
        given = ["REQ", req] if _id("req", req, True) else []
        command = [f"SECKILL.{name}", self.key, _id("user", user), *more, *given]
        return cast(Answer[Any], await self._sure(name, answer, command, text(req or "")))

    async def _sure(self, name: str, read: Callable[[Any], Any], command: Any, req: str) -> Any:
        """Durable: the repeated call shows that this server has the grant, and the INCR comes after
        it, so the WAIT covers both. (After a REPLAY, which writes nothing, WAIT would not wait.)"""
        end = time.monotonic() + self.timeout_ms / 1000
        told, _, lost = await self.ask(name, read, req, [command], end=end)
        durable = None
        if self.durable and (grants := _grants(told)):
            mark, replicas, timeout_ms = self.durable
            both = [command, ("INCR", mark), ("WAIT", replicas, timeout_ms)]
            again, replies, lost = await self.ask(
                name, read, req, both, timeout_ms, lost, True, end
            )
            if (now := _grants(again)) != grants:
                told = again
            durable = replies[2] >= replicas if now else None
        return replace(told, req=req, lost=lost, durable=durable)

    async def ask(
        self,
        name: str,
        read: Callable[[Any], T],
        req: str,
        commands: Any,
        wait_ms: int = 0,
        lost: int = 0,
        happened: bool = False,
        end: float | None = None,
    ) -> tuple[T, list[Any], int]:
        """Retries until there is an answer. An error says nothing about earlier lost attempts.
        `end`: when the call's time is over; the time of a command that blocks comes on top."""
        words = [tuple(_bytes(word) for word in command) for command in commands]
        end = (time.monotonic() + self.timeout_ms / 1000 if end is None else end) + wait_ms / 1000
        why: object = "no time is left"
        for attempt in range(self.attempts):
            if attempt:
                pause = min(PAUSE_S * attempt, max(end - time.monotonic(), 0))
                await asyncio.sleep(pause) if self.links.is_async else time.sleep(pause)
            begun = time.monotonic()
            if (left := end - begun) <= 0:
                break
            if attempt + 1 < self.attempts:
                left = min(left, wait_ms / 1000 + max(left - wait_ms / 1000, 0) / 2)
            outcome, told, replies, cause = "LOST", None, [], None
            try:
                replies = await self._attempt(words, left)
                error = next((said for said in replies if isinstance(said, Exception)), None)
                if error is None:
                    told = read(replies[0])
                    outcome = getattr(told, "outcome", "OK")
                else:
                    outcome, why, cause = code_of(error), error, error
            except ERRORS as error:  # Errors of AUTH or HELLO at connecting.
                outcome, why, cause = code_of(error), error, error
            except (
                redis.RedisError,
                OSError,
                ValueError,
                LookupError,
                TypeError,
                asyncio.TimeoutError,
            ) as error:
                why = cause = error
            passes = cause is not None and any(said in str(cause) for said in (FULL, UNSURE))
            if passes:
                outcome = "ERR"
            lost += outcome == "LOST"
            if self.on_attempt:
                with suppress(Exception):
                    self.on_attempt(name, outcome, lost, (time.monotonic() - begun) * 1000)
            if cause is None:
                return cast(T, told), replies, lost
            is_moved = outcome in ("MOVED", "ASK") and not self.links.is_cluster
            if is_moved or (outcome in MISTAKES and not passes):
                said = str(why)
                said = said if said.split(" ")[0] == outcome else f"{outcome} {said}"
                if lost or happened:
                    raise Unanswered(said, req, lost) from cause
                raise SaleError(said) from cause
        raise Unanswered(why, req, lost) from (why if isinstance(why, Exception) else None)

    async def _attempt(self, words: Any, seconds: float) -> list[Any]:
        call = self.links.send(_bytes(self.key), words, seconds)
        return await (asyncio.wait_for(call, seconds) if self.links.is_async else call)


def _now(call: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end; with a synchronous client it never waits."""
    try:
        call.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    raise AssertionError("a synchronous call awaited something")


def _acked(reader: Reader, identity: str) -> None:
    _now(reader.ack(identity))


def _sync(
    call: Callable[Concatenate[AsyncSale, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Sale", P], T]:
    def run(sale: "Sale", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return _now(call(sale.calls, *args, **kwargs))

    run.__name__, run.__doc__ = call.__name__, call.__doc__
    return run


class Sale:
    """One sale, with a client of redis. `timeout_ms` is for a call with all its attempts."""

    def __init__(
        self,
        client: Any,
        key: Text,
        durable: Durable | None = None,
        *,
        timeout_ms: int = 2000,
        attempts: int = 5,
        on_attempt: OnAttempt | None = None,
    ):
        self.calls = AsyncSale(
            client, key, durable, timeout_ms=timeout_ms, attempts=attempts, on_attempt=on_attempt
        )
        if self.calls.links.is_async:
            raise TypeError("this client is asynchronous: AsyncSale is for it")

    grab, wait, place = _sync(AsyncSale.grab), _sync(AsyncSale.wait), _sync(AsyncSale.place)
    confirm, cancel = _sync(AsyncSale.confirm), _sync(AsyncSale.cancel)
    extend, refund = _sync(AsyncSale.extend), _sync(AsyncSale.refund)
    mgrab, status, user = _sync(AsyncSale.mgrab), _sync(AsyncSale.status), _sync(AsyncSale.user)
    page, units, unit = _sync(AsyncSale.page), _sync(AsyncSale.units), _sync(AsyncSale.unit)

    def winners(self, state: str = "LIVE", after: int | None = 0) -> Iterator[Row]:
        while after is not None:
            after, rows = self.page(state, after)
            yield from rows

    def orders(
        self,
        stream: Text,
        group: Text,
        name: Text,
        *,
        idle_ms: int = 60_000,
        block_ms: int = 1000,
        follow: bool = True,
    ) -> Iterator[Order]:
        """Entries of this sale's outbox; acknowledge each with `order.ack()`."""
        reader = Reader(self.calls, stream, group, name, idle_ms, block_ms if follow else None)
        while (batch := _now(reader.batch())) or follow:
            for identity, event in batch:
                yield Order(identity, event, partial(_acked, reader, identity))
