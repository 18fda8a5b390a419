"""Buys from seckill, a Redis module for flash sales, with redis-py: Sale, or AsyncSale for asyncio.
A call returns an answer, won or not. SaleError: the server refused the call and changed nothing.
Unanswered: the outcome is unknown, so send the call again with its `req`, which never takes units
twice. See docs/clients.md."""

import zlib

from .orders import Order
from .sale import AsyncSale, OnAttempt, Sale
from .tables import Outcome, Settled, State
from .words import (
    UTF8,
    Answer,
    Durable,
    Event,
    MultiAnswer,
    Place,
    Row,
    SaleError,
    Text,
    Unanswered,
    User,
    answer,
    decode,
)

__all__ = [
    "Answer",
    "AsyncSale",
    "Durable",
    "Event",
    "MultiAnswer",
    "OnAttempt",
    "Order",
    "Outcome",
    "Place",
    "Row",
    "Sale",
    "SaleError",
    "Settled",
    "State",
    "Text",
    "Unanswered",
    "User",
    "answer",
    "decode",
    "home",
]


def home(name: str, parts: int, user: Text) -> tuple[int, str]:
    """The user's part of a split sale, and its key."""
    part = zlib.crc32(user.encode(*UTF8) if isinstance(user, str) else user) % parts
    return part, f"{name}:{{p{part}}}"
