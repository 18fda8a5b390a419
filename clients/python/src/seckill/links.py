"""Connections to the servers of a redis-py client, separate from the client's own. So calls have
their own timeouts, retries and slot map, and the client is not changed."""

import asyncio
import copy
import inspect
import os
import random
import time
from collections import defaultdict
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from .tables import MISTAKES

Address = tuple[str, int] | None  # None: the client's own address.
SINGLE, CLUSTER = redis.Redis, redis.RedisCluster
ASYNC_SINGLE, ASYNC_CLUSTER = redis.asyncio.Redis, redis.asyncio.RedisCluster
PIPELINES = (redis.client.Pipeline, redis.asyncio.client.Pipeline)
REDIRECTS = 5
# Time of one Sentinel to answer.
SENTINEL_S = 0.3
# Codes of a server that is not the primary, or not ready yet.
DROPPING = ("READONLY", "LOADING", "MASTERDOWN")
# A server without a free connection says this to a new one, and executes nothing.
FULL = "max number of clients"
# After this one nobody knows what was executed.
UNSURE = "internal error"
# redis-py removes these codes from the text and has a class for each instead.
CODES = {
    "ReadOnlyError": "READONLY",
    "BusyLoadingError": "LOADING",
    "MasterDownError": "MASTERDOWN",
    "MovedError": "MOVED",
    "AskError": "ASK",
    "TryAgainError": "TRYAGAIN",
    "OutOfMemoryError": "OOM",
    "ClusterDownError": "CLUSTERDOWN",
    "ClusterCrossSlotError": "CROSSSLOT",
    "NoPermissionError": "NOPERM",
    "AuthenticationError": "NOAUTH",
    "NoScriptError": "NOSCRIPT",
    "ExecAbortError": "EXECABORT",
}
PASSING = ("TRYAGAIN", "BUSY", "MISCONF", "NOREPLICAS", "UNBLOCKED")
# Error replies; redis-py raises some of them as connection errors.
ERRORS = (redis.ResponseError, redis.BusyLoadingError, redis.AuthenticationError)
# Options of the client's connections that a connection for one exchange must not have.
NOT_OURS = (
    "maint_notifications",
    "oss_cluster_maint",
    "orig_",
    "response_callbacks",
    "retry",
    "health_check_interval",
    "event_dispatcher",
    "himport_registry",
)


def code_of(error: Exception) -> str:
    """The first word of an error reply, as the server sent it."""
    if code := getattr(error, "status_code", None) or CODES.get(type(error).__name__):
        return str(code)
    # redis-py removes ERR, and the rest may also begin with a word in capitals.
    word = str(error).split(" ", 1)[0]
    return word if word in MISTAKES or word in PASSING else "ERR"


async def _wait(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _hurried(pool: Any) -> Any:
    """A pool like this one of Sentinel, to ask for the primary's address. redis-py 8 repeats the
    question to a Sentinel that is gone for a minute, longer than a call may take."""
    hurry = {"socket_timeout": SENTINEL_S, "socket_connect_timeout": SENTINEL_S, "retry": None}
    manager = copy.copy(pool.sentinel_manager)
    manager.sentinels = []
    for one in pool.sentinel_manager.sentinels:
        known = one.connection_pool.connection_kwargs
        place = {"host": known["host"], "port": known["port"]}
        manager.sentinels.append(type(one)(**{**manager.sentinel_kwargs, **hurry, **place}))
    return type(pool)(pool.service_name, manager, is_master=pool.is_master)


class _Timed:
    """A socket whose every read ends at the deadline, so also a reply that comes in many parts."""

    def __init__(self, socket: Any):
        self.socket, self.deadline = socket, 0.0

    def recv(self, *words: Any) -> Any:
        self._limit()
        return self.socket.recv(*words)

    def recv_into(self, *words: Any) -> Any:
        self._limit()
        return self.socket.recv_into(*words)

    def _limit(self) -> None:
        if (left := self.deadline - time.monotonic()) <= 0:
            raise TimeoutError("no time is left")
        self.socket.settimeout(left)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.socket, name)


class Links:
    """The connections for one client; `of` finds them."""

    _all: ClassVar["WeakKeyDictionary[Any, Links]"] = WeakKeyDictionary()

    def __init__(self, client: Any):
        self.is_async = isinstance(client, (ASYNC_SINGLE, ASYNC_CLUSTER))
        self.is_cluster = isinstance(client, (CLUSTER, ASYNC_CLUSTER))
        self.idle: dict[Any, list[Any]] = defaultdict(list)
        self.slots: dict[int, tuple[str, int]] = {}
        self.seeds: list[tuple[str, int]] = []
        self.remap = None
        if self.is_cluster:
            nodes = list(client.nodes_manager.startup_nodes.values()) + client.get_nodes()
            self.seeds = list(dict.fromkeys((node.host, int(node.port)) for node in nodes))
            self.remap = client.nodes_manager.address_remap
        if isinstance(client, ASYNC_CLUSTER):
            self.kind, options = nodes[0].connection_class, dict(nodes[0].connection_kwargs)
        elif self.is_cluster:
            pool = client.get_redis_connection(client.get_default_node()).connection_pool
            # This is a method of the client, which would keep the client alive forever.
            self.kind, options = pool.connection_class, {**pool.connection_kwargs}
            options["redis_connect_func"] = None
        else:
            pool = client.connection_pool
            self.kind, options = pool.connection_class, {**pool.connection_kwargs}
            if hasattr(pool, "sentinel_manager"):
                options["connection_pool"] = _hurried(pool)
        self.options = {
            name: value for name, value in options.items() if not name.startswith(NOT_OURS)
        }
        retry = redis.asyncio.retry.Retry if self.is_async else Retry
        self.options.update(retry=retry(NoBackoff(), 0), health_check_interval=0)
        if "maint_notifications_config" in inspect.signature(redis.Connection).parameters:
            self.options["maint_notifications_config"] = None

    @classmethod
    def of(cls, client: Any) -> "Links":
        kinds = (SINGLE, CLUSTER, ASYNC_SINGLE, ASYNC_CLUSTER)
        if not isinstance(client, kinds) or isinstance(client, PIPELINES):
            raise TypeError(
                "a client of redis-py is needed: Redis or RedisCluster, of redis or of "
                f"redis.asyncio, not {type(client).__name__}"
            )
        if (found := cls._all.get(client)) is None:
            found = cls._all[client] = cls(client)
        return found

    async def send(self, key: bytes, commands: list[tuple[Any, ...]], seconds: float) -> list[Any]:
        """Sends commands over one connection to the key's node. Errors are returned as values."""
        deadline = time.monotonic() + seconds
        slot, asking = key_slot(key) if self.is_cluster else 0, False
        address = await self._node(slot, deadline)
        for redirect in range(REDIRECTS + 1):
            try:
                replies = await self._exchange(address, commands, asking, deadline)
            except BaseException:
                self.slots.clear()
                raise
            # GRAB's error: the commands after it went to the wrong node, too.
            code = code_of(replies[0]) if isinstance(replies[0], Exception) else ""
            if code in (*DROPPING, "CLUSTERDOWN"):
                self.slots.clear()
            asking = code == "ASK"
            if not self.is_cluster or code not in ("MOVED", "ASK") or redirect == REDIRECTS:
                return list(replies)
            host, _, port = str(replies[0]).split()[-1].rpartition(":")
            address = self._place(host or (address or ("", 0))[0], port)
            if code == "MOVED":
                self.slots[slot] = address
        raise AssertionError("the last redirect returns")

    async def _exchange(
        self, address: Address, commands: Any, asking: bool, deadline: float
    ) -> Any:
        # A forked process needs its own connections.
        idle = self.idle[os.getpid(), address]
        try:
            connection = idle.pop()
        except IndexError:  # (Another thread may take the last one after a look.)
            connection = self._connection(address, deadline)
        try:
            self._limit(connection, deadline)
            await _wait(connection.connect())
            ask = [("ASKING",)] if asking else []
            sent = [words for command in commands for words in (*ask, command)]
            self._limit(connection, deadline)
            packed = connection.pack_commands(sent)
            await _wait(connection.send_packed_command(packed, check_health=False))
            replies = []
            for words in sent:
                self._limit(connection, deadline)
                try:
                    reply = await _wait(connection.read_response(disable_decoding=True))
                except ERRORS as error:
                    reply = error
                if words != ("ASKING",):
                    replies.append(reply)
        except BaseException:
            await self._drop(connection, idle)
            raise
        errors = [reply for reply in replies if isinstance(reply, Exception)]
        if any(code_of(error) in DROPPING or FULL in str(error) for error in errors):
            await self._drop(connection, idle)
        else:
            idle.append(connection)
        return replies

    def _connection(self, address: Address, deadline: float) -> Any:
        # With asyncio the caller cancels the call; a time-out here would stay for later calls, of
        # which some block for longer.
        left = None if self.is_async else max(deadline - time.monotonic(), 0.001)
        options = {**self.options, "socket_timeout": left, "socket_connect_timeout": left}
        if address:
            options["host"], options["port"] = address
        return self.kind(**options)

    def _limit(self, connection: Any, deadline: float) -> None:
        """The remaining seconds. (With asyncio the caller cancels the whole call.)"""
        if (left := deadline - time.monotonic()) <= 0:
            raise redis.TimeoutError("no time is left")
        if not self.is_async:
            connection.socket_timeout = connection.socket_connect_timeout = left
            if connection._sock:
                if not isinstance(connection._sock, _Timed):
                    connection._sock = _Timed(connection._sock)
                    connection._parser.on_connect(connection)
                connection._sock.deadline = deadline
                connection._sock.settimeout(left)

    async def _drop(self, connection: Any, idle: list[Any]) -> None:
        gone, idle[:] = [connection, *idle], []
        for connection in gone:
            # The caller's time is over, or it is being cancelled: don't wait.
            await _wait(connection.disconnect(*([True] if self.is_async else [])))

    async def _node(self, slot: int, deadline: float) -> Address:
        """The node of the slot. If it is unknown, asks one node after the other."""
        if not self.is_cluster or slot in self.slots:
            return self.slots.get(slot)
        why: Exception = redis.ConnectionError("no node of the cluster is known")
        # A node that is cut off from the others still names the owner of yesterday: not always the
        # same one.
        seeds = list(self.seeds)
        random.shuffle(seeds)
        for at, seed in enumerate(seeds):
            now = time.monotonic()
            part = now + (deadline - now) / (len(seeds) - at)
            try:
                asked = self._exchange(seed, [("CLUSTER", "SLOTS")], False, part)
                told = (await (asyncio.wait_for(asked, part - now) if self.is_async else asked))[0]
                if isinstance(told, Exception):
                    raise told
                for first, last, (host, port, *_), *_ in told:
                    place = self._place(host.decode() if host else seed[0], port)
                    self.slots.update(dict.fromkeys(range(first, last + 1), place))
                if slot in self.slots:
                    self.seeds = list(dict.fromkeys([*self.slots.values(), *self.seeds]))
                    return self.slots[slot]
            except (
                redis.RedisError,
                OSError,
                ValueError,
                TypeError,
                asyncio.TimeoutError,
            ) as error:
                why = error
        raise why

    def _place(self, host: str, port: Any) -> tuple[str, int]:
        place = (host, int(port))
        return self.remap(place) if self.remap else place
