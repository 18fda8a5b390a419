"""Starts and kills the two stores on loopback, and measures their processor time."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

# The settings of TigerFans' own postgresql.conf, for both accountings in PostgreSQL.
POSTGRES_SETTINGS = {
    "shared_buffers": "1GB",
    "wal_compression": "on",
    "checkpoint_timeout": "5min",
    "max_wal_size": "2GB",
    "effective_io_concurrency": "200",
}
# Durability of an answered step: synced to disk at once, or within a second.
DURABILITIES = {"always": ("on", "always"), "second": ("off", "everysec")}
STARTS_WITHIN_S = 30


def free_port():
    with socket.socket() as given:
        given.bind(("127.0.0.1", 0))
        return given.getsockname()[1]


def wait_for(port, what):
    end = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < end:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"{what} does not start")


def children(pid):
    """This process and all its descendants."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [pid]
    for one in found:
        found.extend(parents.get(one, []))
    return found


def processor_s(pid):
    """Processor time of a process and its descendants, including ended ones."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    ran_ns = 0
    for one in children(pid):
        for task in Path(f"/proc/{one}/task").glob("*/schedstat"):
            try:
                ran_ns += int(task.read_text().split()[0])
            except OSError:
                continue
    return ended + ran_ns / 1e9


class Store:
    """A server with its own folder, which each new start empties."""

    def __init__(self, folder):
        self.folder, self.port, self.process = Path(folder), free_port(), None

    def kill(self):
        """Kills all its processes at once (SIGKILL)."""
        found = children(self.process.pid)
        for word in (signal.SIGSTOP, signal.SIGKILL):
            for pid in {*found, *children(self.process.pid)}:
                # A database's helper process may have just ended.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, word)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.kill()


class Postgres(Store):
    def __init__(self, folder):
        super().__init__(folder)
        homes = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda at: int(at.parent.name))
        self.bin = homes[-1]
        self.blank = self.folder / "blank"
        self.folder.mkdir(parents=True)
        shutil.chown(self.folder, "postgres")
        self._run(self.bin / "initdb", "-D", self.blank, "-U", "postgres", "--auth=trust", "-E", "UTF8")

    def _run(self, *words):
        subprocess.run(words, check=True, user="postgres", stdout=subprocess.DEVNULL, cwd=self.folder)

    def fresh(self, durability):
        self.stop()
        data = self.folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        self._run("cp", "-r", self.blank, data)
        self.settings = {**POSTGRES_SETTINGS, "synchronous_commit": DURABILITIES[durability][0]}
        self.start()

    def start(self):
        words = [self.bin / "postgres", "-D", self.folder / "data", "-p", str(self.port), "-h", "127.0.0.1"]
        words += ["-k", self.folder]
        for name, value in self.settings.items():
            words += ["-c", f"{name}={value}"]
        log = open(self.folder / "log", "a")
        self.process = subprocess.Popen(words, user="postgres", cwd=self.folder, stdout=log, stderr=log)
        wait_for(self.port, "PostgreSQL")
        end = time.monotonic() + STARTS_WITHIN_S
        while self.ask("SELECT 1") != "1":
            if time.monotonic() > end:
                raise RuntimeError("PostgreSQL does not recover")
            time.sleep(0.05)

    def ask(self, sql):
        url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        told = subprocess.run(["psql", url, "-Atqc", sql], capture_output=True, text=True)
        return told.stdout.strip()


class Redis(Store):
    def __init__(self, folder, server, module):
        super().__init__(folder)
        self.server, self.module = server, module

    def fresh(self, durability):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.fsync = DURABILITIES[durability][1]
        self.start()

    def start(self):
        words = [self.server, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder]
        words += ["--appendonly", "yes", "--appendfsync", self.fsync, "--save", ""]
        words += ["--maxmemory-policy", "noeviction", "--loadmodule", self.module]
        log = open(self.folder / "log", "a")
        self.process = subprocess.Popen(words, stdout=log, stderr=log)
        wait_for(self.port, "Redis")
