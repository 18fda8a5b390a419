"""The load: TigerFans' four phases over HTTP, and direct calls of its accounting."""

import asyncio
import base64
import hashlib
import hmac
import itertools
import json
import time

SECRET = b"supersecret"


class Connection:
    """One HTTP connection that stays open."""

    def __init__(self, port):
        self.port, self.writer = port, None

    async def ask(self, method, path, body=b"", headers=()):
        try:
            if self.writer is None:
                self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
            lines = [f"{method} {path} HTTP/1.1", "host: shop", f"content-length: {len(body)}", *headers]
            self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("content-length: ")[1].split("\r\n")[0])
            return int(head.split(" ")[1]), await self.reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            raise

    def close(self):
        if self.writer is not None:
            self.writer.close()
            self.writer = None


async def crowd(clients, work, step, make=lambda: None):
    """Runs the work with this many clients; returns seconds and results."""
    left, results = iter(work), []

    async def client():
        own = make()
        for piece in left:
            results.append(await step(own, piece))
        if own is not None:
            own.close()

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return time.perf_counter() - begun, results


class Gone(Exception):
    """HTTP 404: the shop has deleted the payment session, which it does at the end."""


class Shop:
    """The phases of the public load, in its order."""

    PHASES = ("checkout", "webhook", "reserve", "commit")

    def __init__(self, port):
        self.port, self.sessions, self.holds = port, [], []

    async def _json(self, own, method, path, body=b"", headers=()):
        status, told = await own.ask(method, path, body, headers)
        if status == 404:
            raise Gone(path)
        if status != 200:
            raise RuntimeError(f"{path}: HTTP {status} {told[:200]!r}")
        return json.loads(told)

    async def _checkout(self, own, n):
        buyer = {"cls": "AB"[n % 2], "customer_email": f"user{n}@example.com"}
        headers = ["content-type: application/json"]
        return await self._json(own, "POST", "/api/checkout", json.dumps(buyer).encode(), headers)

    async def _webhook(self, own, session):
        psid = session["redirect_url"].rsplit("/", 1)[1]
        event = {
            "type": "payment.succeeded",
            "payment_session_id": psid,
            "order_id": session["order_id"],
            "amount": session["amount"],
            "currency": session["currency"],
            "created_at": int(time.time()),
            "idempotency_key": f"evt_{psid}",
        }
        payload = json.dumps(event).encode()
        signed = base64.b64encode(hmac.new(SECRET, payload, hashlib.sha256).digest()).decode()
        headers = ["content-type: application/json", f"x-mockpay-signature: {signed}"]
        return await self._json(own, "POST", "/payments/webhook", payload, headers)

    async def _reserve(self, own, n):
        return await self._json(own, "GET", "/api/accounting/reserve")

    async def _commit(self, own, hold):
        asked = "&".join(f"{name}={value}" for name, value in hold.items())
        return await self._json(own, "GET", f"/api/accounting/commit?{asked}")

    async def phase(self, name, clients, total):
        work = {"webhook": self.sessions, "commit": self.holds}.get(name, range(total))
        seconds, told = await crowd(clients, work, getattr(self, f"_{name}"), lambda: Connection(self.port))
        if name == "checkout":
            self.sessions = told
        if name == "reserve":
            self.holds = told
        if name == "webhook" and any(one.get("order_status") != "PAID" for one in told):
            raise RuntimeError("an order was not paid")
        return total / seconds


class Direct:
    """An accounting called from this process. `session` makes the first argument of its functions."""

    def __init__(self, accounting, session):
        self.accounting, self.session = accounting, session
        self.numbers = itertools.count()

    async def reserve(self, _own=None, _n=None):
        async with self.session() as db:
            return await self.accounting.hold_tickets(db, "A", 1, 300)

    async def commit(self, _own, hold):
        async with self.session() as db:
            return await self.accounting.commit_order(db, hold[0], hold[1], "A", 1, hold[3])

    async def book(self):
        async with self.session() as db:
            return await self.accounting.book_immediately(db, "A", 1)

    async def paid(self, hold):
        """As the shop's webhook: a hold that can't be committed is booked again. Returns the number of
        the order's ticket, or None if there is none."""
        if (await self.commit(None, hold))[0]:
            return hold[0]
        anew = await self.book()
        return anew[0] if anew[2] else None
