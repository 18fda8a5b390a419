"""Checked by mypy, not run: a `match` over outcomes that lacks one is an error."""

from typing_extensions import assert_never

from seckill import AsyncSale, Sale


def told(sale: Sale) -> str:
    answer = sale.grab("alice", "order-1")
    match answer.outcome:
        case "GRANTED" | "ALREADY" | "REPLAY":
            return "yours" if answer.won else "not any more"
        case "OVERLIMIT" | "SHORT" | "DENIED" | "CLOSED":
            return "no"
        case "SOLDOUT" | "NOTOPEN" | "PAUSED" | "BUSY" | "WAITING" | "TAKEN":
            return "not now"
        case _ as other:
            assert_never(other)


def stands(sale: Sale) -> str:
    settled = sale.confirm("alice", "order-1")
    match settled.outcome:
        case "SOLD" | "HELD":
            return "paid"
        case "CANCELLED" | "EXPIRED" | "REFUNDED" | "NOGRANT":
            return "send the money back"
        case _ as other:
            assert_never(other)


async def work(sale: AsyncSale) -> None:
    async for order in sale.orders("orders", "shop", "worker-1"):
        if order.event is not None:
            print(order.event.data["rev"])
        await order.ack()
    # Neither a user nor a number.
    await sale.grab(None, qty="2")  # type: ignore[arg-type]
