"""Buys one unit with redis-py and clients/python:  buy.py URL KEY USER ORDER"""

import sys

import redis
from seckill import Sale, SaleError, Unanswered


def main():
    url, key, user, order = sys.argv[1:]
    sale = Sale(redis.Redis.from_url(url), key)
    try:
        answer = sale.grab(user, order)
    except Unanswered as error:
        sys.exit(f"unknown, ask again with the order {error.req}: {error}")
    except SaleError as error:
        sys.exit(f"mistake: {error}")
    if answer.won:
        print(f"{answer.outcome} {answer.qty} unit, number {answer.seq}")
    else:
        print(f"no unit: {answer.state or answer.outcome}")


main()
