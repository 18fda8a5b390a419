"""Clients that lack one rule of clients/README.md, to check that the cases find it."""

import dataclasses
from typing import Any

import seckill
from seckill import links, orders, tables, words
from seckill import sale as calls


class NewReq(seckill.Sale):
    """Retries with another REQ after a lost reply."""

    def grab(self, user: Any, req: Any = None, **more: Any) -> Any:
        self.calls.attempts = 1
        for _ in range(5):
            try:
                return super().grab(user, req, **more)
            except seckill.Unanswered:
                req = ""
        raise seckill.Unanswered("gave up", req, 5)


class NoReq(seckill.Sale):
    """Sends no REQ if it is empty."""

    def grab(self, user: Any, req: Any = ..., **more: Any) -> Any:
        if req is None or req == "":
            return calls._now(self.calls._change("GRAB", user, ""))
        return super().grab(user, None if req is ... else req, **more)


class Keeps(seckill.Sale):
    """Keeps the connection after READONLY, LOADING, MASTERDOWN and where no more are accepted."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        vars(links).update(DROPPING=(), FULL="\0")


class Patient(seckill.Sale):
    """Has no timeout."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **{**options, "timeout_ms": 10_000_000})


class Deaf(seckill.Sale):
    """Ignores the address in MOVED and ASK."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        vars(links)["REDIRECTS"] = 0


class Vague(seckill.Sale):
    """Reports errors of the caller as Unanswered."""

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
    """Does not accept a reply with additional words."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)

        def answer(reply: Any) -> Any:
            if len(reply) > len(tables.FIELDS[words.text(reply[0])]):
                raise ValueError("not an answer")
            return words.answer(reply)

        vars(calls)["answer"] = answer


class Hopeful(seckill.Sale):
    """Counts an expired hold as won."""

    def confirm(self, *args: Any, **more: Any) -> Any:
        told = super().confirm(*args, **more)
        return dataclasses.replace(told, state="SOLD") if told.state == "EXPIRED" else told


class Forgets(seckill.Sale):
    """Reads new entries only: nobody gets pending entries of crashed readers."""

    def orders(self, *args: Any, **more: Any) -> Any:
        async def nothing(reader: Any) -> list[Any]:
            return []

        reader: Any = orders.Reader
        reader._pending = reader._left = nothing
        return super().orders(*args, **more)


class Kept(dict[int, Any]):
    def clear(self) -> None:
        pass


class Stays(seckill.Sale):
    """Keeps the primary that Sentinel reported first, and a cluster's first map."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        found = links.Links.of(args[0])
        found.slots = Kept(found.slots)
        if pool := found.options.get("connection_pool"):
            named = pool.get_master_address()
            pool.get_master_address = lambda: named


def told_as(answer: Any, **fields: Any) -> Any:
    return dataclasses.replace(answer, **fields)


class Single(seckill.Sale):
    """Counts ALREADY, the user's other order, as a refusal."""

    def grab(self, *args: Any, **more: Any) -> Any:
        told = super().grab(*args, **more)
        return told_as(told, state=None) if told.outcome == "ALREADY" else told


class Blunt(seckill.Sale):
    """Reports every refusal as SOLDOUT."""

    def grab(self, *args: Any, **more: Any) -> Any:
        told = super().grab(*args, **more)
        return told if told.state or told.outcome == "WAITING" else told_as(told, outcome="SOLDOUT")


class Hasty(seckill.Sale):
    """Counts a place on the waiting list as a grant."""

    def grab(self, *args: Any, **more: Any) -> Any:
        told = super().grab(*args, **more)
        return told_as(told, state="HELD") if told.outcome == "WAITING" else told

    def wait(self, *args: Any, **more: Any) -> Any:
        told = super().wait(*args, **more)
        return told_as(told, state="HELD") if told.outcome == "WAITING" else told


class Counts(seckill.Sale):
    """Sends QTY 1 without a requested quantity."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        right = self.calls._qty
        vars(self.calls)["_qty"] = lambda qty: ["QTY", 1] if qty is None else right(qty)


class Keepsake(seckill.Sale):
    """Counts a returned grant as won."""

    def cancel(self, *args: Any, **more: Any) -> Any:
        told = super().cancel(*args, **more)
        return told_as(told, state="HELD") if told.state == "CANCELLED" else told


class Whole(seckill.Sale):
    """Sends no KEEP."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        vars(self.calls)["_keep"] = lambda keep: []


class Punctual(seckill.Sale):
    """Sends no RECLAIM."""

    def confirm(self, user: Any, req: Any = None, reclaim: bool = False, keep: Any = None) -> Any:
        return super().confirm(user, req, keep=keep)


class Stubborn(seckill.Sale):
    """Retries after every error."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        vars(calls)["MISTAKES"] = ()


class Skims(seckill.Sale):
    """Reads only one page of the winners."""

    def winners(self, state: str = "LIVE", after: Any = 0) -> Any:
        yield from self.page(state, after)[1]


class Texts(seckill.Sale):
    """Reads all ids as text."""

    def grab(self, user: Any, *args: Any, **more: Any) -> Any:
        return super().grab(
            str(user, "utf-8", "replace") if isinstance(user, bytes) else user, *args, **more
        )


class Resigns(seckill.Sale):
    """Does not retry CONFIRM, CANCEL, EXTEND and REFUND."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        change, usual = self.calls._change, self.calls.attempts

        def once(name: str, *words: Any) -> Any:
            self.calls.attempts = usual if name == "GRAB" else 1
            return change(name, *words)

        vars(self.calls)["_change"] = once


class Trusts(seckill.Sale):
    """Reports durable without waiting for a replica."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        asked, self.calls.durable = self.calls.durable, None
        sure = self.calls._sure

        async def trusting(*words: Any) -> Any:
            told = await sure(*words)
            has = asked and told.won
            return told_as(told, durable=True) if has else told

        vars(self.calls)["_sure"] = trusting


class Blank(seckill.Sale):
    """Reads missing fields of an entry as empty."""

    @staticmethod
    def decode(fields: Any) -> Any:
        told = seckill.decode(fields)
        return told._replace(user=told.user or "", req=told.req or "", split=told.split or "")


class Lump(seckill.Sale):
    """Asks for the first sale's quantity in each sale."""

    def mgrab(self, user: Any, others: Any, req: Any = None, qty: Any = None) -> Any:
        return super().mgrab(user, others, req, qty[0] if isinstance(qty, list) else qty)


class Endless(seckill.Sale):
    """Sends no UNTIL."""

    def wait(self, user: Any, req: Any = None, qty: Any = None, until_ms: Any = None) -> Any:
        return super().wait(user, req, qty)


class Grabs(seckill.Sale):
    """Reads the state of raw replies of GRAB only."""

    @staticmethod
    def answer(reply: Any) -> Any:
        told = seckill.answer(reply)
        return told_as(told, state=None) if told.outcome == told.state else told


class Anywhere(seckill.Sale):
    """Sends a quantity instead of unit numbers."""

    def grab(self, *args: Any, units: Any = None, **more: Any) -> Any:
        if isinstance(units, list) and "qty" not in more:
            more["qty"] = len(units)
        else:
            more["units"] = units
        return super().grab(*args, **more)


class Scattered(seckill.Sale):
    """Sends no ADJACENT."""

    def grab(self, *args: Any, adjacent: bool = False, **more: Any) -> Any:
        return super().grab(*args, **more)


class Blind(seckill.Sale):
    """Does not report the unit numbers of a grant."""

    def grab(self, *args: Any, **more: Any) -> Any:
        return told_as(super().grab(*args, **more), units=None)


CLIENTS: dict[str, Any] = {
    "anywhere": Anywhere,
    "scattered": Scattered,
    "blind": Blind,
    "single": Single,
    "blunt": Blunt,
    "hasty": Hasty,
    "counts": Counts,
    "keepsake": Keepsake,
    "whole": Whole,
    "punctual": Punctual,
    "stubborn": Stubborn,
    "skims": Skims,
    "texts": Texts,
    "resigns": Resigns,
    "trusts": Trusts,
    "blank": Blank,
    "lump": Lump,
    "endless": Endless,
    "grabs": Grabs,
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
