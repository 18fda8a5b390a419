#!/usr/bin/env python3
"""Checks that a package for Redis Software describes its module correctly.

Usage: check_redis_software.py PACKAGE.zip SOCKET. A server with the module listens at SOCKET. RAMP,
Redis' own packer, opens the package, because it knows the rules for packages.
"""

import hashlib
import sys

import redis
from RAMP.unpacker import unpack


def main(package, socket):
    about, module, others = unpack(package)
    assert hashlib.sha256(module.read()).hexdigest() == about["sha256"], "another file"
    assert not others and about["version"] == 100, about["version"]
    client = redis.Redis(unix_socket_path=socket, decode_responses=True, protocol=2)
    names = client.execute_command("COMMAND LIST FILTERBY MODULE seckill")
    served = {}
    for name in names:
        info = client.connection_pool.get_connection()
        info.send_command("COMMAND", "INFO", name)
        [reply] = info.read_response()
        client.connection_pool.release(info)
        name, arity, flags, first, last, step, *_ = reply
        served[name.lower()] = (arity, sorted(flags), first, last, step)
    described = {
        each["command_name"]: (
            each["command_arity"], each["flags"], each["first_key"], each["last_key"], each["step"]
        )
        for each in about["commands"]
    }
    differ = {
        name: (described.get(name), served.get(name))
        for name in described.keys() | served.keys()
        if described.get(name) != served.get(name)
    }
    assert not differ, f"described, served: {differ}"
    print(f"ok: {package.rsplit('/', 1)[-1]} describes the {len(served)} commands that it serves")


main(*sys.argv[1:])
