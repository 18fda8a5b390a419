"""Parses replies and entries."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast, get_args

from .tables import EVENT, FIELDS, Outcome, Settled, State

UTF8 = ("utf-8", "surrogateescape")  # Keeps ids that are not UTF-8 unchanged.
Text = str | bytes
W = TypeVar("W", covariant=True)


class SaleError(Exception):
    """The server refused the call and changed nothing; `code` is the error's first word."""

    code = property(lambda self: str(self).split(" ", 1)[0])


class Unanswered(Exception):
    """The outcome is unknown. Send the call again with this `req`: it never takes units twice.
    `lost`: attempts without a reply."""

    def __init__(self, why: object, req: str, lost: int):
        super().__init__(f"ask again with the same REQ: {why}")
        self.req, self.lost = req, lost


class Durable(NamedTuple):
    """Makes answers say whether enough replicas have the grant; `mark` is the key of a counter."""

    mark: str
    replicas: int = 1
    timeout_ms: int = 1000


@dataclass(frozen=True)
class Answer(Generic[W]):
    """The reply to a call; fields that it lacks are None. Times are Unix milliseconds."""

    outcome: W  # The first word: an Outcome of a grab, or the grant's state.
    req: str = ""
    seq: int | None = None
    qty: int | None = None
    state: State | None = None
    deadline_ms: int | None = None
    available: int | None = None
    held: int | None = None
    allowance: int | None = None
    opens_in_ms: int | None = None
    ticket: int | None = None
    ahead: int | None = None
    units_ahead: int | None = None
    unit: int | None = None
    units: tuple[int, ...] | None = None  # None in a sale without NUMBERED.
    lost: int = 0  # Attempts without a reply. After a refusal one may still arrive: cancel.
    durable: bool | None = None

    @property
    def won(self) -> bool:
        return self.state in ("HELD", "SOLD")


@dataclass(frozen=True)
class MultiAnswer:
    """The reply of MGRAB: a grant for each sale, or the first refusing sale with its answer."""

    outcome: str  # GRANTED, REPLAY or REFUSED.
    req: str
    grants: list[Answer[Outcome]]
    index: int | None = None
    refusal: Answer[Outcome] | None = None
    lost: int = 0
    durable: bool | None = None

    @property
    def won(self) -> bool:
        return bool(self.grants) and all(grant.won for grant in self.grants)


class Row(NamedTuple):
    """A grant; at_ms and deadline_ms (0 for none) are Unix milliseconds."""

    seq: int
    user: str
    qty: int
    state: State
    at_ms: int
    deadline_ms: int
    req: str | None
    epoch: int
    round: int
    units: tuple[int, ...] | None = None


class User(NamedTuple):
    """An allowance of -1 means no limit; admission is OK, DENIED or BUSY."""

    allowance: int
    admission: str
    grants: list[Row]


class Place(NamedTuple):
    """A place on the waiting list."""

    ticket: int
    ahead: int
    units_ahead: int


class Event(NamedTuple):
    """An entry of the outbox. A repeated entry has an equal id, epoch and rev in its data."""

    event: str
    sale: str
    data: dict[str, Any]
    user: str | None
    req: str | None
    outbox: str | None
    split: str | None


def text(value: Any) -> Any:
    return value.decode(*UTF8) if isinstance(value, bytes) else value


def answer(reply: Any) -> Answer[Any]:
    """Reads a raw reply of GRAB, IMPORT, CONFIRM, CANCEL, EXTEND or REFUND."""
    words = [text(word) for word in reply]
    if not words or words[0] not in FIELDS:
        raise ValueError(f"not an answer: {reply}")
    return _named(FIELDS[words[0]], words)


def _named(names: list[str], words: list[Any]) -> Answer[Any]:
    # There may be more words than names, but not fewer.
    told = dict(zip(names, words))
    if len(told) < len(names) or told.get("state", "HELD") not in get_args(Settled):
        raise ValueError(f"not an answer: {words}")
    return Answer(**{"outcome": words[0], **told}, units=_units(words[len(names) :]))


def _units(more: list[Any]) -> tuple[int, ...] | None:
    """The unit numbers after the words of a reply or a row, in a sale with NUMBERED."""
    return tuple(more[0]) if more and isinstance(more[0], list) else None


def answers(reply: Any) -> MultiAnswer:
    """Reads a raw reply of MGRAB."""
    word = text(reply[0])
    if word == "REFUSED":
        return MultiAnswer(word, "", [], reply[1], answer(reply[2]))
    names = FIELDS[word][1:]
    rows = [[text(value) for value in row] for row in reply[1:]]
    grants = [_named(["outcome", *names], [word, *row]) for row in rows]
    return MultiAnswer(word, "", grants)


def row(reply: Any) -> Row:
    last = len(Row._fields) - 1
    return Row(*cast(Any, [*map(text, reply[:last]), _units(reply[last:])]))


def decode(fields: Mapping[Any, Any] | list[Any]) -> Event:
    """Reads the fields of a stream entry, a map or a flat list, of bytes or text. ValueError if it
    is no entry of a sale."""
    pairs = fields.items() if isinstance(fields, Mapping) else zip(fields[::2], fields[1::2])
    told = {text(name): text(value) for name, value in pairs}
    if any(name not in told for name in EVENT[:3]):
        raise ValueError("not an entry of a sale")
    told["data"] = json.loads(told["data"])
    if not isinstance(told["data"], dict):
        raise ValueError("not an entry of a sale")
    return Event(*cast(Any, map(told.get, EVENT)))
