"""Clients with one rule of clients/README.md left out, so that the table is known to see it."""

import dataclasses
from typing import Any

import seckill
from seckill import links, orders, tables, words
from seckill import sale as calls


class NewReq(seckill.Sale):
    """Asks again with another REQ when there was no answer."""

    def grab(self, user: Any, req: Any = None, **more: Any) -> Any:
        self.calls.attempts = 1
        for _ in range(5):
            try:
                return super().grab(user, req, **more)
            except seckill.Unanswered:
                req = ""
        raise seckill.Unanswered("gave up", req, 5)


class NoReq(seckill.Sale):
    """Sends no REQ where it was given an empty one."""

    def grab(self, user: Any, req: Any = 0, **more: Any) -> Any:
        if req or req == 0:
            return super().grab(user, req or None, **more)
        return calls._now(self.calls._change("GRAB", user, ""))


class Keeps(seckill.Sale):
    """Keeps the connection after READONLY, LOADING, MASTERDOWN."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        vars(links)["DROPPING"] = ()


class Patient(seckill.Sale):
    """Waits as long as the server takes."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **{**options, "timeout_ms": 10_000_000})


class Deaf(seckill.Sale):
    """Asks again where it was, after MOVED and ASK."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        vars(links)["REDIRECTS"] = 0


class Vague(seckill.Sale):
    """Tells the caller's mistakes as Unanswered."""

    def __init__(self, *args: Any, **options: Any):
        try:
            super().__init__(*args, **options)
        except TypeError as error:
            raise seckill.Unanswered(error, "", 0) from error

    def grab(self, *args: Any, **more: Any) -> Any:
        try:
            return super().grab(*args, **more)
        except TypeError as error:
            raise seckill.Unanswered(error, "", 0) from error


class Strict(seckill.Sale):
    """Takes a reply with more words than it knows for none."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)

        def answer(reply: Any) -> Any:
            if len(reply) > len(tables.FIELDS[words.text(reply[0])]):
                raise ValueError("not an answer")
            return words.answer(reply)

        vars(calls)["answer"] = answer


class Hopeful(seckill.Sale):
    """Takes an expired hold for a grant."""

    def confirm(self, *args: Any, **more: Any) -> Any:
        told = super().confirm(*args, **more)
        return dataclasses.replace(told, state="SOLD") if told.state == "EXPIRED" else told


class Forgets(seckill.Sale):
    """Reads new entries only: what its name had when it died, and others left, nobody gets."""

    def orders(self, *args: Any, **more: Any) -> Any:
        async def nothing(reader: Any) -> list[Any]:
            return []

        reader: Any = orders.Reader
        reader._pending = reader._left = nothing
        return super().orders(*args, **more)


class Stays(seckill.Sale):
    """Asks the server that Sentinel named first, for ever."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        pool: Any = getattr(args[0], "connection_pool", None)
        if proxy := getattr(pool, "proxy", None):
            named = proxy.get_master_address()
            proxy.get_master_address = lambda: named


CLIENTS: dict[str, Any] = {
    "new-req": NewReq,
    "no-req": NoReq,
    "keeps": Keeps,
    "patient": Patient,
    "deaf": Deaf,
    "vague": Vague,
    "strict": Strict,
    "hopeful": Hopeful,
    "forgets": Forgets,
    "stays": Stays,
}
