// Written from the module's own tables by `make docs`: change those, not this file.

package seckill

import "strings"

const settled = "seq qty deadline_ms"

// Names of the elements after the first word of a reply. Newer modules may add more.
var fields = map[string]string{
	"GRANTED":   "seq qty state deadline_ms available",
	"ALREADY":   "seq qty state deadline_ms",
	"REPLAY":    "seq qty state deadline_ms",
	"OVERLIMIT": "allowance",
	"SOLDOUT":   "held",
	"SHORT":     "available",
	"NOTOPEN":   "opens_in_ms",
	"CLOSED":    "",
	"PAUSED":    "",
	"DENIED":    "",
	"BUSY":      "",
	"WAITING":   "ticket ahead units_ahead",
	"TAKEN":     "unit",
	"HELD":      settled,
	"SOLD":      settled,
	"CANCELLED": settled,
	"EXPIRED":   settled,
	"REFUNDED":  settled,
	"NOGRANT":   settled,
}

// Names of the elements of a row in USER and WINNERS.
var rowFields = strings.Fields("seq user qty state at_ms deadline_ms req epoch round")

// First words of errors that a retry can't avoid.
var mistakes = map[string]bool{
	"AMBIGUOUS":   true,
	"BUSYGROUP":   true,
	"CROSSSLOT":   true,
	"ERR":         true,
	"NOAUTH":      true,
	"NOGROUP":     true,
	"NOPERM":      true,
	"NOSALE":      true,
	"NOSCRIPT":    true,
	"NOTNUMBERED": true,
	"REQMISMATCH": true,
	"SALEEXISTS":  true,
	"WRONGPART":   true,
	"WRONGPASS":   true,
	"WRONGTYPE":   true,
}
