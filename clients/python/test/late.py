"""What the table of cases can't ask: a server that sends a byte at a time, a connection that was
opened by a call with less time, and a Sentinel that does not answer."""

import asyncio
import contextlib
import socket
import threading
import time
from typing import Any

import redis
import redis.asyncio

import seckill

GRANTED = b"*6\r\n$7\r\nGRANTED\r\n:1\r\n:1\r\n$4\r\nSOLD\r\n:0\r\n:9\r\n"
DEAF: list[socket.socket] = []
REPLIES = {b"SECKILL.GRAB": GRANTED, b"INCR": b":1\r\n", b"WAIT": b":0\r\n"}


def serve(drip_s: float) -> int:
    """A server that answers; WAIT takes its time, and a byte of GRAB's reply `drip_s`."""
    server = socket.create_server(("127.0.0.1", 0))
    port = str(server.getsockname()[1])
    state = ["name", "mymaster", "ip", "127.0.0.1", "port", port, "flags", "master"]
    state += ["num-other-sentinels", "1"]
    masters = f"*1\r\n*{len(state)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in state)
    replies = {**REPLIES, b"SENTINEL": masters.encode()}

    def answer(client: socket.socket) -> None:
        with contextlib.suppress(OSError), client, client.makefile("rb") as file:
            while line := file.readline():
                words = []
                for _ in range(int(line[1:])):
                    words.append(file.read(int(file.readline()[1:]) + 2)[:-2])
                if words[0] == b"WAIT":
                    time.sleep(int(words[2]) / 1000)
                reply = replies.get(words[0], b"+OK\r\n")
                if not drip_s or words[0] != b"SECKILL.GRAB":
                    client.sendall(reply)
                    continue
                for at in range(len(reply)):
                    client.sendall(reply[at : at + 1])
                    time.sleep(drip_s)

    def accept() -> None:
        while True:
            threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return int(port)


def drips() -> None:
    client = redis.Redis(port=serve(0.05), protocol=2)
    sale = seckill.Sale(client, "sale", timeout_ms=600, attempts=2)
    begun = time.monotonic()
    try:
        answer = sale.grab("alice", "order-1")
    except seckill.Unanswered as error:
        assert (error.req, error.lost) == ("order-1", 2), error
        assert time.monotonic() - begun < 0.9, "the time was over before"
    else:
        raise AssertionError(f"{answer} after {time.monotonic() - begun} s")


async def blocks() -> None:
    client = redis.asyncio.Redis(port=serve(0), protocol=2)
    told: list[Any] = []
    short = seckill.AsyncSale(client, "sale", timeout_ms=300)
    await short.grab("alice", "order-1")
    durable = seckill.Durable("mark", 1, 700)
    sale = seckill.AsyncSale(client, "sale", durable, on_attempt=lambda *said: told.append(said[1]))
    answer = await sale.grab("alice", "order-1")
    assert (answer.durable, answer.lost, told) == (False, 0, ["GRANTED"] * 2), (answer, told)


def sentinels() -> dict[str, Any]:
    """The first one takes connections, and answers nothing."""
    deaf = socket.create_server(("127.0.0.1", 0))
    nodes = [("127.0.0.1", deaf.getsockname()[1]), ("127.0.0.1", serve(0))]
    DEAF.append(deaf)
    return {"sentinels": nodes, "sentinel_kwargs": {"protocol": 2}, "protocol": 2}


def passes() -> None:
    asked: Any = redis.Sentinel
    sale = seckill.Sale(asked(**sentinels()).master_for("mymaster"), "sale")
    assert sale.grab("alice", "order-1").won


async def passes_too() -> None:
    asked: Any = redis.asyncio.Sentinel
    sale = seckill.AsyncSale(asked(**sentinels()).master_for("mymaster"), "sale")
    assert (await sale.grab("alice", "order-1")).won


drips()
asyncio.run(blocks())
passes()
asyncio.run(passes_too())
