"""Writes the tables of docs/tigerfans.md and its Chinese version from the figures of run.py.

    pages.py FIGURES.json DOCS
"""

import json
import sys
from pathlib import Path
from statistics import median

NAMES = {
    "theirs": ("TigerFans' own, PostgreSQL", "TigerFans 自己的 PostgreSQL 记账"),
    "counter": ("one counter row, PostgreSQL", "计数行 PostgreSQL 记账"),
    "seckill": ("seckill", "seckill"),
}
DURABILITIES = {
    "always": "`synchronous_commit = on`, `appendfsync always`",
    "second": "`synchronous_commit = off`, `appendfsync everysec`",
}
# Largest ratio between the highest and lowest value of a cell that shows a figure.
SPREAD = 1.5


def figure(values):
    low, high = round(min(values)), round(max(values))
    if high > SPREAD * max(low, 1):
        return "`varies`", "`varies`"
    one = f"{round(median(values))}" + (f" ({low}–{high})" if low != high else "")
    return one, one


class Page:
    def __init__(self, found, language):
        self.found, self.language = found, language

    def say(self, english, chinese):
        return (english, chinese)[self.language]

    def name(self, name):
        return NAMES[name][self.language]

    def table(self, head, rows):
        lines = [head, ["---"] * len(head), *rows]
        return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)

    def rates(self, measured):
        return [figure([rate for rate, _ in measured[n]])[self.language] for n in measured]

    def store(self, measured):
        """The sum of both stores, because the shop always keeps payments and orders in PostgreSQL."""
        return figure([sum(stores) for _, stores in measured])[self.language]

    def run(self):
        about = self.found["about"]
        at = about["tigerfans"][:12]
        return self.say(
            f"TigerFans at `{at}`, PostgreSQL {about['postgres']}, Redis {about['redis']}, Python "
            f"{about['python']}, {about['processors']} processors, {about['date']}. A write of 512 bytes "
            f"with `fdatasync` takes {about['fsync_us']} µs here. Load average before the run: "
            f"{about['load_before']}. {about['total']} operations a phase over HTTP, {about['calls']} where the "
            f"accounting is called, {about['repeats']} times each: the median, and in brackets the lowest and "
            "the highest; `varies` where the highest is more than 1.5 times the lowest.",
            f"TigerFans 版本 `{at}`，PostgreSQL {about['postgres']}，Redis {about['redis']}，Python "
            f"{about['python']}，{about['processors']} 个处理器，{about['date']}。本机写 512 字节并 `fdatasync` "
            f"需 {about['fsync_us']} µs。运行前的平均负载：{about['load_before']}。经 HTTP 的阶段 {about['total']} "
            f"次操作，直接调用记账的阶段 {about['calls']} 次，各重复 {about['repeats']} 遍：给出中位数，括号内为最低和最高；"
            "最高超过最低 1.5 倍的写作 `varies`。",
        )

    def speed(self, way, phases):
        head = [
            self.say("phase", "阶段"),
            self.say("accounting", "记账"),
            *(self.say(f"ops/s, {n}", f"次/秒，{n}") for n in (1, 10, 100)),
            self.say("store µs an operation, 10", "存储 µs/次，10"),
        ]
        parts = []
        for durability, settings in DURABILITIES.items():
            if f"theirs {durability}" not in self.found[way]:
                continue
            rows = []
            for phase in phases:
                for name in NAMES:
                    cell = self.found[way][f"{name} {durability}"][phase]
                    rows.append([phase, self.name(name), *self.rates(cell), self.store(cell["10"])])
            parts.append(self.say(f"{settings}:", f"{settings}：") + "\n\n" + self.table(head, rows))
        return "\n\n".join(parts)

    def http(self):
        return self.speed("http", ("checkout", "webhook", "reserve", "commit"))

    def direct(self):
        return self.speed("direct", ("reserve", "commit"))

    def order(self):
        head = [
            self.say("accounting", "记账"),
            self.say("through the shop", "经过整个网站"),
            self.say("accounting alone", "只记账"),
            self.say("alone, 100000 sold before", "只记账，此前已售 100000"),
        ]

        def both(cell, phases):
            took = [median([sum(stores) for _, stores in cell[phase]["10"]]) for phase in phases]
            return round(sum(took))

        rows = []
        for name in NAMES:
            cell = f"{name} always"
            rows.append([
                self.name(name),
                both(self.found["http"][cell], ("checkout", "webhook")),
                both(self.found["direct"][cell], ("reserve", "commit")),
                both(self.found["grown"][name], ("reserve", "commit")),
            ])
        return self.table(head, rows)

    def killed(self):
        head = [
            self.say("settings", "设置"),
            self.say("accounting", "记账"),
            self.say("paid", "已付款"),
            self.say("ticket lost", "票丢失"),
            self.say("ticket sold to nobody", "售出但无人持有"),
            self.say("told that there is none", "收到“没有票”"),
            self.say("still held at the end", "结束时仍被预占"),
        ]
        rows = []
        for durability, settings in DURABILITIES.items():
            for name in NAMES:
                told = self.found["killed"][f"{name} {durability}"]
                kept = [told[word] for word in ("paid", "lost", "doubled", "refused", "still_held")]
                rows.append([settings, self.name(name), *kept])
        return self.table(head, rows)

    def shop(self):
        head = [
            self.say("killed", "被杀的"),
            self.say("accounting", "记账"),
            self.say("paid and answered with 200", "已付款并返回 200"),
            self.say("of these without an order", "其中没有订单"),
        ]
        rows = [
            [store, self.name(name), told["paid"], told["lost"]]
            for name, stores in self.found["shop_killed"].items()
            for store, told in stores.items()
        ]
        return self.table(head, rows)

    def sold(self):
        head = [
            self.say("accounting", "记账"),
            self.say("tickets given of 100, ten times", "100 张票实际给出，十次"),
        ]
        given = self.found["sold_out"].items()
        return self.table(head, [[self.name(name), ", ".join(map(str, told))] for name, told in given])

    def write(self, path):
        text = path.read_text()
        for part in ("run", "http", "direct", "order", "killed", "shop", "sold"):
            begin = f"<!-- tigerfans: {part} -->"
            before, found, rest = text.partition(begin)
            if not found:
                raise SystemExit(f"{path} has no {begin}")
            end = rest.index("<!-- /tigerfans -->")
            text = f"{before}{begin}\n\n{getattr(self, part)()}\n\n{rest[end:]}"
        path.write_text(text)


def main():
    figures, docs = map(Path, sys.argv[1:])
    found = json.loads(figures.read_text())
    for language, page in enumerate((docs / "tigerfans.md", docs / "zh/tigerfans.md")):
        Page(found, language).write(page)


if __name__ == "__main__":
    main()
