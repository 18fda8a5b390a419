"""Written from the module's own tables by `make docs`: change those, not this file."""

from typing import Literal

State = Literal["HELD", "SOLD", "CANCELLED", "EXPIRED", "REFUNDED"]
Settled = Literal["HELD", "SOLD", "CANCELLED", "EXPIRED", "REFUNDED", "NOGRANT"]
Outcome = Literal[
    "GRANTED",
    "ALREADY",
    "REPLAY",
    "OVERLIMIT",
    "SOLDOUT",
    "SHORT",
    "NOTOPEN",
    "CLOSED",
    "PAUSED",
    "DENIED",
    "BUSY",
    "WAITING",
    "TAKEN",
]
# Names of a reply's elements, by its first word. Newer modules may add more.
FIELDS = {
    "GRANTED": "outcome seq qty state deadline_ms available".split(),
    "ALREADY": "outcome seq qty state deadline_ms".split(),
    "REPLAY": "outcome seq qty state deadline_ms".split(),
    "OVERLIMIT": "outcome allowance".split(),
    "SOLDOUT": "outcome held".split(),
    "SHORT": "outcome available".split(),
    "NOTOPEN": "outcome opens_in_ms".split(),
    "CLOSED": "outcome".split(),
    "PAUSED": "outcome".split(),
    "DENIED": "outcome".split(),
    "BUSY": "outcome".split(),
    "WAITING": "outcome ticket ahead units_ahead".split(),
    "TAKEN": "outcome unit".split(),
    "HELD": "state seq qty deadline_ms".split(),
    "SOLD": "state seq qty deadline_ms".split(),
    "CANCELLED": "state seq qty deadline_ms".split(),
    "EXPIRED": "state seq qty deadline_ms".split(),
    "REFUNDED": "state seq qty deadline_ms".split(),
    "NOGRANT": "state seq qty deadline_ms".split(),
}
ROW = "seq user qty state at_ms deadline_ms req epoch round".split()
EVENT = "event sale data user req outbox split".split()
# First words of errors that a retry can't avoid.
MISTAKES = [
    "AMBIGUOUS",
    "BUSYGROUP",
    "CROSSSLOT",
    "ERR",
    "NOAUTH",
    "NOGROUP",
    "NOPERM",
    "NOSALE",
    "NOSCRIPT",
    "NOTNUMBERED",
    "REQMISMATCH",
    "SALEEXISTS",
    "WRONGPART",
    "WRONGPASS",
    "WRONGTYPE",
]
