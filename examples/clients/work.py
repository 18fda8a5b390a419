"""Runs all commands of the users of redis.conf.example, with redis-py:  work.py HOST:PORT KEY WORK

Calls that clients/python supports (BUY in the list) go through clients/python.
"""

import sys

import redis
from seckill import Sale, decode


def connect(address, user):
    """Connects with a client name, which the library sends at connecting."""
    host, port = address.split(":")
    return redis.Redis(
        host=host,
        port=int(port),
        username=user,
        password=f"change-me-{user}",
        client_name=f"{user}-app",
        decode_responses=True,
    )


def buy(sale):
    held = [sale.grab("a", "o-1"), sale.grab("b", "o-2", 2), sale.grab("c", "o-3", upto=2)]
    held.append(sale.extend("a", 900_000, "o-1"))
    assert [answer.state for answer in held] == ["HELD"] * 4
    assert sale.confirm("a", "o-1").state == "SOLD"
    assert sale.cancel("b", "o-2").state == "CANCELLED"
    assert sale.user("a").grants[0].req == "o-1"
    assert sale.status()["sold"] == 1


def main():
    address, key, work = sys.argv[1:]
    servers = {user: connect(address, user) for user in ("shop", "reader", "operator", "monitoring")}
    with open(work, encoding="ascii") as lines:
        for line in lines:
            user, *call = line.replace("KEY", key).split()
            if call[0] == "BUY":
                buy(Sale(servers[user], call[1]))
            else:
                servers[user].execute_command(*call)

    entries = servers["reader"].xreadgroup("db", "one", {f"{key}:orders": ">"})
    # RESP2 has a list of streams, RESP3 a map, in which batches are in another list.
    batch = list(entries.values())[0][0] if isinstance(entries, dict) else entries[0][1]
    first, fields = batch[0]
    assert decode(fields).event == "INIT"
    assert servers["reader"].xack(f"{key}:orders", "db", first) == 1

    # Another program pauses and resumes a sale all the time, so there are always notifications.
    for user in ("monitoring", "operator"):
        events = servers[user].pubsub(ignore_subscribe_messages=True)
        events.psubscribe("__keyevent@*__:seckill.*")
        heard = next(events.listen())
        assert heard["data"] == "sale:ticker", heard
        events.close()

    both = servers["shop"].pipeline(transaction=True)
    for order in ("first", "second"):
        both.execute_command("SECKILL.GRAB", key, "g", "REQ", order)
    assert [reply[0] for reply in both.execute()] == ["GRANTED", "GRANTED"]

    assert list(servers["monitoring"].scan_iter(match=key)) == [key]
    assert servers["operator"].bgrewriteaof()
    assert servers["operator"].delete(key) == 1
    print("OK")


main()
