"""Buys one unit with redis-py:  buy.py URL KEY USER ORDER"""

import sys

import redis


def grab(server, key, user, order):
    """Asks for one unit. The order id makes it safe to ask again: it never takes two."""
    outcome, *rest = server.execute_command("SECKILL.GRAB", key, user, "REQ", order)
    if outcome in ("GRANTED", "REPLAY", "ALREADY"):
        seq, qty, state = rest[:3]
        won = state in ("SOLD", "HELD")
        return f"{outcome} {qty} unit, number {seq}" if won else f"{outcome} but {state}"
    return f"no unit: {outcome}"


def main():
    url, key, user, order = sys.argv[1:]
    server = redis.Redis.from_url(url, decode_responses=True)
    try:
        print(grab(server, key, user, order))
    except redis.exceptions.ConnectionError as error:
        sys.exit(f"unknown, ask again with the same order id: {error}")
    except redis.exceptions.ResponseError as error:
        sys.exit(f"mistake: {error}")


main()
