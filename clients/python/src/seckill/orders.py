"""Reads entries of an outbox for a worker, by a consumer group."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

from .words import Event, SaleError, Text, Unanswered, decode, text

COUNT = 100
Entry = tuple[str, Event | None]
T = TypeVar("T")


class Asks(Protocol):
    """The parts of a sale that a reader needs."""

    async def ask(
        self,
        name: str,
        read: Callable[[Any], T],
        req: str,
        commands: Any,
        wait_ms: int = 0,
    ) -> tuple[T, list[Any], int]:
        """Retries until there is an answer."""


class Order(NamedTuple):
    """An entry for a worker; event is None if it was trimmed before anybody read it, or if it is
    no entry of a sale. Call `ack` after the work (with asyncio await it). A repeated entry has an
    equal (id, epoch, rev) in its data."""

    id: str
    event: Event | None
    ack: Callable[[], Any]


class Reader:
    """Reads pending entries of this name first, then old ones of others, then new ones."""

    def __init__(
        self,
        sale: Asks,
        stream: Text,
        group: Text,
        name: Text,
        idle_ms: int,
        block_ms: int | None,
    ):
        for what, value in (("stream", stream), ("group", group), ("name", name)):
            if not isinstance(value, str | bytes):
                raise TypeError(f"{what} must be str or bytes, not {type(value).__name__}")
        self.sale, self.stream, self.group, self.name = sale, stream, group, name
        self.idle_ms, self.block_ms = idle_ms, block_ms
        self.last: str | None = "0"  # Last pending one of this name; None: none left.
        self.claim: str | None = "0-0"  # Cursor of XAUTOCLAIM; None: not due.
        self.claimed_at = time.monotonic()
        self.given = "0"
        self.trimmed: set[str] = set()

    async def ack(self, identity: str) -> None:
        await self._call("XACK", "XACK", self.stream, self.group, identity)

    async def batch(self) -> list[Entry]:
        """The next entries; empty if there are none now."""
        while True:
            try:
                return await self._pending() or await self._left() or await self._new()
            except SaleError as error:
                if error.code != "NOGROUP":
                    raise
                await self._make_group()
            except Unanswered:
                # Entries of the lost reply are now pending for this name.
                self.last = self.given
                if self.block_ms is None:
                    raise

    async def _make_group(self) -> None:
        words = ("XGROUP", "CREATE", self.stream, self.group, "0", "MKSTREAM")
        try:
            await self._call("XGROUP", *words)
        except SaleError as error:
            if error.code != "BUSYGROUP":
                raise

    async def _pending(self) -> list[Entry]:
        while self.last is not None:
            reply, _ = await self._group_read(self.last)
            if entries := self._told(reply):
                self.last = self.given = entries[-1][0]
                self.trimmed.update(identity for identity, event in entries if event is None)
                return entries
            self.last = None
        return []

    async def _left(self) -> list[Entry]:
        if self.claim is None and (time.monotonic() - self.claimed_at) * 1000 >= self.idle_ms:
            self.claim = "0-0"
        while self.claim is not None:
            command = (
                "XAUTOCLAIM",
                self.stream,
                self.group,
                self.name,
                self.idle_ms,
                self.claim,
                "COUNT",
                COUNT,
            )
            (cursor, entries, *trimmed), _ = await self._call("XAUTOCLAIM", *command)
            self.claim, self.claimed_at = text(cursor), time.monotonic()
            if self.claim == "0-0":
                self.claim = None
            gone = {text(identity) for identity in (trimmed[0] if trimmed else [])}
            # Trimmed entries that were pending for this name were already returned.
            gone, self.trimmed = gone - self.trimmed, self.trimmed - gone
            if found := [*map(_entry, entries), *((identity, None) for identity in sorted(gone))]:
                return found
        return []

    async def _new(self) -> list[Entry]:
        block = ("BLOCK", self.block_ms) if self.block_ms is not None else ()
        reply, lost = await self._group_read(">", *block)
        if lost:
            # The entries of the lost reply are pending for this name now, and those of this reply
            # too: they come in their order.
            self.last = self.given
            return await self._pending()
        if entries := self._told(reply):
            self.given = entries[-1][0]
        return entries

    async def _group_read(self, after: str, *block: Any) -> tuple[Any, int]:
        command = (
            "XREADGROUP",
            "GROUP",
            self.group,
            self.name,
            "COUNT",
            COUNT,
            *block,
            "STREAMS",
            self.stream,
            after,
        )
        return await self._call("XREADGROUP", *command, wait_ms=int(block[1]) if block else 0)

    def _told(self, reply: Any) -> list[Entry]:
        if not reply:
            return []
        # RESP3 has a map.
        entries = next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1]
        return [_entry(entry) for entry in entries]

    async def _call(self, name: str, *command: Any, wait_ms: int = 0) -> tuple[Any, int]:
        """The reply, and the number of attempts that were lost before."""
        told, _, lost = await self.sale.ask(name, lambda told: told, "", [command], wait_ms)
        return told, lost


def _entry(entry: Any) -> Entry:
    identity, fields = entry
    try:
        return text(identity), decode(fields) if fields else None
    except (ValueError, RecursionError):
        # Another program wrote it: it must not stop the worker.
        return text(identity), None
