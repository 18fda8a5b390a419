"""The whole work of every user of redis.conf.example, with redis-py:  work.py HOST:PORT KEY WORK"""

import sys

import redis


def connect(address, user):
    """With a name, which the library tells the server when it connects."""
    host, port = address.split(":")
    return redis.Redis(
        host=host,
        port=int(port),
        username=user,
        password=f"change-me-{user}",
        client_name=f"{user}-app",
        decode_responses=True,
    )


def main():
    address, key, work = sys.argv[1:]
    servers = {user: connect(address, user) for user in ("shop", "reader", "operator", "monitoring")}
    with open(work, encoding="ascii") as lines:
        for line in lines:
            user, *call = line.replace("KEY", key).split()
            servers[user].execute_command(*call)

    entries = servers["reader"].xreadgroup("db", "one", {f"{key}:orders": ">"})
    # A list of streams with RESP2, a map of them with RESP3, where batches are lists once more.
    batch = list(entries.values())[0][0] if isinstance(entries, dict) else entries[0][1]
    first = batch[0][0]
    assert servers["reader"].xack(f"{key}:orders", "db", first) == 1

    # Meanwhile another program pauses and resumes a sale, so there is always something to hear.
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
