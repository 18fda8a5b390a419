"""Runs TigerFans' public load with its PostgreSQL accounting, with a correct one, and with seckill.

    run.py --tigerfans FOLDER --module FILE [--server redis-server] [--json FILE] [--quick] [--only PART]

FOLDER is a checkout of TigerFans, which is not changed; its Python packages must be importable. The
figures go into a JSON file, from which pages.py writes the tables of docs/tigerfans.md. As root: the
databases run as the user postgres.
"""

import argparse
import asyncio
import contextlib
import importlib
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import load
import stores

NAMES = ("theirs", "counter", "seckill")
CLIENTS = (1, 10, 100)
KILLS = 8
SOLD_BEFORE = 100_000
SELLOUT_UNITS, SELLOUT_ASKED, SELLOUT_CLIENTS = 100, 400, 100
HERE = Path(__file__).resolve().parent


class Bench:
    def __init__(self, told, folder):
        self.told, self.folder = told, folder
        self.postgres = stores.Postgres(folder / "postgres")
        self.redis = stores.Redis(folder / "redis", told.server, told.module)
        url = f"127.0.0.1:{self.postgres.port}/postgres"
        os.environ.update(
            ACCT_BACKEND="pg",
            PAYSESSION_BACKEND="pg",
            DATABASE_URL=f"postgresql+asyncpg://postgres@{url}",
            COUNTER_URL=f"postgresql://postgres@{url}",
            SECKILL_URL=f"redis://127.0.0.1:{self.redis.port}",
        )
        # Numbers of operations: in a phase over HTTP, and in direct calls of the accounting.
        self.total, self.calls = (100, 100) if told.quick else (300, 600)
        self.repeats = 1 if told.quick else 3

    def fresh(self, durability):
        self.postgres.fresh(durability)
        self.redis.fresh(durability)

    def spent(self):
        return [stores.processor_s(store.process.pid) for store in (self.postgres, self.redis)]

    def stop(self):
        self.postgres.stop()
        self.redis.stop()

    @contextlib.contextmanager
    def shop(self, name):
        """TigerFans' web server: one worker, as its README recommends."""
        port = stores.free_port()
        words = [sys.executable, HERE / "shop.py", self.told.tigerfans, name, str(port)]
        log = open(self.folder / "shop.log", "a")
        process = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            stores.wait_for(port, f"the shop ({self.folder}/shop.log)")
            yield load.Shop(port)
        finally:
            process.kill()
            process.wait()

    @contextlib.asynccontextmanager
    async def direct(self, name, capacity=None):
        """An accounting in this process, with its tables or sales created."""
        if name == "theirs":
            accounting = importlib.import_module("tigerfans.model.accounting._postgres")
            sql = importlib.import_module("tigerfans.infra.sql")
            engine, sessions, _, gated = sql.make_async_engine(os.environ["DATABASE_URL"])
            before = accounting.TicketAmount_Class_A
            accounting.TicketAmount_Class_A = capacity or before

            @contextlib.asynccontextmanager
            async def session():
                async with sessions() as one:
                    yield accounting.GatedAsyncSession(session=one, gated=gated)

            async with engine.begin() as connection:
                with contextlib.redirect_stdout(None):
                    await accounting.create_accounts(connection)
            accounting.TicketAmount_Class_A = before
        else:
            sys.modules.pop(f"by_{name}", None)
            accounting, engine = importlib.import_module(f"by_{name}"), None
            accounting.CAPACITY["A"] = capacity or accounting.CAPACITY["A"]
            session = contextlib.nullcontext
            await accounting.create_accounts(None)
        yield load.Direct(accounting, session)
        if engine is not None:
            await engine.dispose()

    async def measured(self, call, total):
        """A phase: operations a second, and the stores' processor time for one, in microseconds."""
        before = self.spent()
        rate = await call
        return rate, [(b - a) / total * 1e6 for a, b in zip(before, self.spent(), strict=True)]

    async def over_http(self, durability, name):
        found = {}
        for clients in CLIENTS:
            self.fresh(durability)
            with self.shop(name) as shop:
                # Not measured: opens the connections and loads the code.
                for phase in shop.PHASES:
                    await shop.phase(phase, clients, 2 * clients)
                for _ in range(self.repeats):
                    for phase in shop.PHASES:
                        call = shop.phase(phase, clients, self.total)
                        row = found.setdefault(phase, {}).setdefault(clients, [])
                        row.append(await self.measured(call, self.total))
        return found

    async def called(self, durability, name, sold_before):
        """Measures the accounting without a web server."""
        found = {}
        for clients in CLIENTS if not sold_before else (10,):
            self.fresh(durability)
            async with self.direct(name) as direct:
                if sold_before:
                    await self.sell_before(name, sold_before)
                # Not measured: opens the connections.
                await load.crowd(clients, range(2 * clients), direct.reserve)
                for _ in range(self.repeats):
                    holds = []

                    async def reserve(holds=holds, clients=clients, direct=direct):
                        seconds, told = await load.crowd(clients, range(self.calls), direct.reserve)
                        holds.extend(told)
                        return self.calls / seconds

                    async def commit(holds=holds, clients=clients, direct=direct):
                        seconds, told = await load.crowd(clients, holds, direct.commit)
                        if not all(ticket for ticket, _ in told):
                            raise RuntimeError("a hold was not committed")
                        return self.calls / seconds

                    for phase, call in (("reserve", reserve), ("commit", commit)):
                        row = found.setdefault(phase, {}).setdefault(clients, [])
                        row.append(await self.measured(call(), self.calls))
        return found

    async def sell_before(self, name, units):
        """Creates earlier orders: this many tickets, and half as many goodies."""
        half = units // 2
        if name == "theirs":
            for resource, count in (("class_a", units), ("goodie", half)):
                self.postgres.ask(
                    "INSERT INTO holds (resource, qty, status, created_at) "
                    f"SELECT '{resource}', 1, 'posted', 0 FROM generate_series(1, {count})")
            self.postgres.ask("VACUUM ANALYZE holds")
        elif name == "counter":
            for sale, count in (("A", units), ("goodie", half)):
                self.postgres.ask(
                    f"INSERT INTO counted_holds SELECT '{sale}', 'before' || n, 1, 'sold' "
                    f"FROM generate_series(1, {count}) n")
                self.postgres.ask(f"UPDATE counters SET units_left = units_left - {count} WHERE name = '{sale}'")
            self.postgres.ask("VACUUM ANALYZE counted_holds")
        else:
            accounting = importlib.import_module("by_seckill")
            for sale, count in (("A", units), ("goodie", half)):
                key, pipe = f"{{fans}}:{sale}", accounting._client.pipeline(transaction=False)
                for n in range(count):
                    pipe.execute_command("SECKILL.IMPORT", key, f"before{n}", 1, "REQ", f"before{n}")
                    if n % 10_000 == 9_999 or n + 1 == count:
                        await pipe.execute()

    async def killed(self, durability, name):
        """Ten buyers order and pay without a pause while the store is killed ten times. A call without
        an answer is repeated, as visitors and payment providers do."""
        self.fresh(durability)
        chance, held, paid, refused, on = random.Random(4401), [], [], 0, True

        async def surely(call):
            while True:
                try:
                    return await call()
                except Exception:
                    await asyncio.sleep(0.05)

        async with self.direct(name) as direct:

            async def buyer():
                nonlocal refused
                while on:
                    hold = await surely(direct.reserve)
                    held.append(hold)
                    ticket = await surely(lambda: direct.paid(hold))
                    refused += ticket is None
                    paid.append(ticket)

            buyers = [asyncio.create_task(buyer()) for _ in range(10)]
            store = self.redis if name == "seckill" else self.postgres
            await self.kill_often(store, chance)
            on = False
            await asyncio.gather(*buyers)
            posted, pending = await self.books(name)
        told = {ticket for ticket in paid if ticket is not None}
        return {
            "paid": len(paid),
            "refused": refused,
            "lost": len(told - posted),
            "doubled": len(posted - told),
            "still_held": pending,
        }

    async def shop_killed(self, name, store):
        """The whole shop: buyers check out, and their payment provider calls the webhook until the answer
        is 200, while a store is killed. Counts payments, and payments without an order."""
        self.fresh("always")
        chance, paid, on = random.Random(4402), [], True
        with self.shop(name) as shop:

            async def surely(call, own, piece):
                while True:
                    try:
                        return await call(own, piece)
                    except load.Gone:
                        return None
                    except Exception:
                        await asyncio.sleep(0.05)

            async def buyer(first):
                own, number = load.Connection(shop.port), first
                while on:
                    session = await surely(shop._checkout, own, number)
                    if await surely(shop._webhook, own, session):
                        paid.append(session["order_id"])
                    number += 10
                own.close()

            buyers = [asyncio.create_task(buyer(first)) for first in range(10)]
            await self.kill_often(store, chance)
            on = False
            await asyncio.gather(*buyers)
        orders = self.postgres.ask("SELECT id FROM orders WHERE status = 'PAID'").split()
        return {"paid": len(paid), "lost": len(set(paid) - set(orders))}

    async def kill_often(self, store, chance):
        for _ in range(1 if self.told.quick else KILLS):
            await asyncio.sleep(chance.uniform(0.5, 1.5))
            store.kill()
            await asyncio.to_thread(store.start)
        await asyncio.sleep(1)

    async def books(self, name):
        """The numbers of all tickets sold in class A, and the number of held ones."""
        if name == "seckill":
            sale = importlib.import_module("by_seckill")._sale("A")
            rows = {row.user async for row in sale.winners("SOLD")}
            return rows, (await sale.status())["held"]
        table, sold, held = {
            "theirs": ("holds WHERE resource = 'class_a'", "status = 'posted'", "status = 'pending'"),
            "counter": ("counted_holds WHERE name = 'A'", "state = 'sold'", "state = 'held'"),
        }[name]
        rows = set(self.postgres.ask(f"SELECT id FROM {table} AND {sold}").split())
        return rows, int(self.postgres.ask(f"SELECT count(*) FROM {table} AND {held}"))

    async def sold_out(self, name):
        """More clients than units: counts the clients that got one."""
        found = []
        for _ in range(1 if self.told.quick else 10):
            self.fresh("always")
            async with self.direct(name, SELLOUT_UNITS) as direct:
                asked = range(SELLOUT_ASKED)
                _, told = await load.crowd(SELLOUT_CLIENTS, asked, direct.reserve)
                found.append(sum(has_ticket for _, _, has_ticket, _ in told))
        return found

    async def speed(self):
        found = {"http": {}, "direct": {}, "grown": {}}
        for name in NAMES:
            found["http"][f"{name} always"] = await self.over_http("always", name)
            for durability in stores.DURABILITIES:
                found["direct"][f"{name} {durability}"] = await self.called(durability, name, 0)
            found["grown"][name] = await self.called("always", name, SOLD_BEFORE)
            print(f"{time.strftime('%T')} {name}: measured", flush=True)
        return found

    async def losses(self):
        found = {"killed": {}, "shop_killed": {}, "sold_out": {}}
        for name in NAMES:
            for durability in stores.DURABILITIES:
                found["killed"][f"{name} {durability}"] = await self.killed(durability, name)
            stores_killed = {"PostgreSQL": await self.shop_killed(name, self.postgres)}
            if name == "seckill":
                stores_killed["Redis"] = await self.shop_killed(name, self.redis)
            found["shop_killed"][name] = stores_killed
            found["sold_out"][name] = await self.sold_out(name)
            print(f"{time.strftime('%T')} {name}: killed", flush=True)
        return found


def fsync_us(folder):
    """The duration of one small synced write to disk: the median of 300."""
    taken = []
    with open(folder / "probe", "wb") as probe:
        for _ in range(300):
            begun = time.perf_counter()
            probe.write(b"x" * 512)
            probe.flush()
            os.fdatasync(probe.fileno())
            taken.append(time.perf_counter() - begun)
    return sorted(taken)[150] * 1e6


def about(told, bench):
    def first_line(*words):
        return subprocess.run(words, capture_output=True, text=True).stdout.split("\n")[0]

    commit = first_line("git", "-C", told.tigerfans, "rev-parse", "HEAD")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "tigerfans": commit or "unknown",
        "postgres": first_line(bench.postgres.bin / "postgres", "--version").split(" ")[2],
        "redis": first_line(told.server, "--version").split("v=")[1].split(" ")[0],
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "fsync_us": round(fsync_us(bench.folder)),
        "total": bench.total,
        "calls": bench.calls,
        "repeats": bench.repeats,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tigerfans", required=True, type=os.path.abspath)
    parser.add_argument("--module", required=True, type=os.path.abspath)
    parser.add_argument("--server", default="redis-server")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=["speed", "losses"])
    told = parser.parse_args()
    if not Path(told.tigerfans, "tigerfans/model/accounting/_postgres.py").exists():
        sys.exit(f"{told.tigerfans} is no checkout of TigerFans: it has no accounting in PostgreSQL.")
    if os.geteuid() != 0:
        sys.exit("Run this as root: PostgreSQL is started as the user postgres.")
    sys.path.insert(0, told.tigerfans)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bench = Bench(told, Path(folder))
        found = {}
        try:
            if told.only != "losses":
                found |= {"about": about(told, bench)} | asyncio.run(bench.speed())
            if told.only != "speed":
                found |= asyncio.run(bench.losses())
        finally:
            bench.stop()
    if told.json:
        before = json.loads(told.json.read_text()) if told.only and told.json.exists() else {}
        told.json.write_text(json.dumps(before | found, indent=1) + "\n")


if __name__ == "__main__":
    main()
