"""Buys from seckill, a Redis module for flash sales, by redis-py: Sale, or AsyncSale for asyncio.
An answer is a value, won or not. SaleError: nothing has happened. Unanswered: nobody knows, so ask
again with its `req`, which never takes twice. See docs/clients.md."""

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
    """The part of a split sale that is this user's, and its key."""
    part = zlib.crc32(user.encode(*UTF8) if isinstance(user, str) else user) % parts
    return part, f"{name}:{{p{part}}}"
