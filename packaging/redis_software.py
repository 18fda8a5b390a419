#!/usr/bin/env python3
"""Packs a module for Redis Software: a zip of the file and module.json, made from commands.json.

Usage: redis_software.py MODULE ARCHITECTURE VERSION COMMANDS.JSON TARGET.zip

Redis Software 8 accepts it through its API (POST /v2/modules/user-defined and, on each node,
/v2/local/modules/user-defined/artifacts), older versions by POST /v2/modules. Equal files give
equal bytes.
"""

import hashlib
import json
import sys
import zipfile

# Capabilities for Redis Software, in the words of its packer. Not no_multi_key, because MGRAB has several keys. Not
# crdb, because two writers at once would sell a unit twice. Not flash.
CAPABILITIES = [
    "types", "replica_of", "backup_restore", "eviction_expiry", "reshard_rebalance",
    "failover_migrate", "persistence_aof", "persistence_rdb", "clustering", "hash_policy", "ipv6",
    "resp3",
]
# Commands for replicas and AOF files; docs/commands.json lacks them, because clients don't need them.
INTERNAL = {
    "SECKILL.APPLY": {
        "arity": -4,
        "command_flags": ["write", "skip_monitor", "skip_slowlog"],
        "key_specs": [{
            "begin_search": {"index": {"pos": 1}},
            "find_keys": {"range": {"lastkey": 0, "step": 1}},
        }],
    }
}
# Flags with other names in COMMAND than in the servers' own JSON.
FLAGS = {"deny-oom": "denyoom", "allow-loading": "loading", "allow-stale": "stale"}


def command_of(name, command):
    """A command as in COMMAND INFO; keys after a number of keys are movablekeys."""
    first = last = step = 0
    flags = ["module", *(FLAGS.get(flag, flag) for flag in command["command_flags"])]
    for index, spec in enumerate(command.get("key_specs", [])):
        begin, found = spec["begin_search"].get("index"), spec["find_keys"].get("range")
        if index == 0 and begin and found:
            first, step = begin["pos"], found["step"]
            last = found["lastkey"] + (first if found["lastkey"] >= 0 else 0)
        else:
            flags.append("movablekeys")
    return {
        "command_name": name.lower(),
        "command_arity": command["arity"],
        "flags": sorted(set(flags)),
        "first_key": first,
        "last_key": last,
        "step": step,
    }


def main(module, architecture, version, commands, target):
    code = open(module, "rb").read()
    names = json.load(open(commands)) | INTERNAL
    numbers = [int(part) for part in version.split(".")]
    about = {
        "module_name": "seckill",
        "display_name": "seckill",
        "module_file": "libseckill.so",
        "author": "The seckill authors",
        "email": "",
        "description": "Flash sales, ticket drops and red packets that can't oversell",
        "homepage": "",
        "license": "BSD-3-Clause",
        "architecture": architecture,
        "os": "Linux",
        "version": numbers[0] * 10000 + numbers[1] * 100 + numbers[2],
        "semantic_version": version,
        "min_redis_version": "7.0",
        "compatible_redis_version": "7.0",
        "min_redis_pack_version": "7.2",
        "command_line_args": "",
        "config_command": "",
        "capabilities": CAPABILITIES,
        "dependencies": {},
        "optional-dependencies": {},
        "commands": [command_of(*item) for item in sorted(names.items())],
        "ramp_format_version": 1,
        "sha256": hashlib.sha256(code).hexdigest(),
    }
    files = {"module.json": json.dumps(about, indent=2).encode(), "libseckill.so": code}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            # The oldest possible time in a zip, so that files are equal at every build.
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o755 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


main(*sys.argv[1:])
