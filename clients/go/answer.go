package seckill

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Answer is the reply of GRAB, CONFIRM, CANCEL, EXTEND, REFUND and IMPORT. Numbers that its word
// does not have are 0; see Has.
type Answer struct {
	Outcome    string  // the first word
	State      string  // the grant's: HELD, SOLD, CANCELLED, EXPIRED, REFUNDED, or NOGRANT
	Req        string  // the REQ of the call; empty if it had none
	Seq        int64   // the grant's number in its sale
	Qty        int64   // units of the grant
	DeadlineMs int64   // Unix ms until when the grant is held; 0 if it is not
	Available  int64   // units left in the sale
	Held       int64   // held units of others that may come back
	Allowance  int64   // units that the user may still have
	OpensInMs  int64   // until the sale opens
	Ticket     int64   // the user's number on the waiting list
	Ahead      int64   // number of waiters before the user
	UnitsAhead int64   // units that these waiters ask for
	Unit       int64   // the number of a taken unit
	Units      []int64 // the grant's unit numbers; nil if the sale has none
	Lost       int     // attempts without a reply: after a refusal one may still arrive, so cancel
	Durable    *bool   // whether enough replicas have the grant; nil without Durable
}

var errNoAnswer = errors.New("not an answer of seckill")

// Won says whether the user has the units.
func (a Answer) Won() bool { return a.State == "HELD" || a.State == "SOLD" }

// Has says whether the answer has this number; clients/README.md lists the names.
func (a Answer) Has(number string) bool {
	return strings.Contains(" "+fields[a.Outcome]+" ", " "+number+" ")
}

// ReadAnswer reads a raw reply, of a script for example: a []any of strings and int64. Additional
// words at its end are ignored.
func ReadAnswer(reply any) (Answer, error) {
	words, ok := reply.([]any)
	if !ok || len(words) == 0 {
		return Answer{}, fmt.Errorf("%w: %v", errNoAnswer, reply)
	}
	outcome, _ := words[0].(string)
	return readAnswer(outcome, words[1:])
}

func readAnswer(outcome string, words []any) (Answer, error) {
	a := Answer{Outcome: outcome}
	names, known := fields[outcome]
	if names == settled {
		a.State = outcome
	}
	isRead := fill(strings.Fields(names), words, map[string]*int64{
		"seq": &a.Seq, "qty": &a.Qty, "deadline_ms": &a.DeadlineMs, "available": &a.Available,
		"held": &a.Held, "allowance": &a.Allowance, "opens_in_ms": &a.OpensInMs,
		"ticket": &a.Ticket, "ahead": &a.Ahead, "units_ahead": &a.UnitsAhead, "unit": &a.Unit,
	}, map[string]*string{"state": &a.State})
	if !known || !isRead || a.Has("state") && fields[a.State] != settled {
		return a, fmt.Errorf("%w: %s %v", errNoAnswer, outcome, words)
	}
	a.Units = unitsOf(words[len(strings.Fields(names)):])
	return a, nil
}

// Stores each word under its name; false if one is missing or of another type. A text may be nil.
func fill(names []string, words []any, numbers map[string]*int64, texts map[string]*string) bool {
	for at, name := range names {
		if at >= len(words) {
			return false
		}
		number, isNumber := words[at].(int64)
		text, isText := words[at].(string)
		switch {
		case isNumber && numbers[name] != nil:
			*numbers[name] = number
		case isText && texts[name] != nil:
			*texts[name] = text
		case words[at] != nil || texts[name] == nil:
			return false
		}
	}
	return true
}

// Unit numbers at the end of a reply or a row, in a sale with NUMBERED.
func unitsOf(more []any) []int64 {
	if len(more) == 0 {
		return nil
	}
	list, isList := more[0].([]any)
	if !isList {
		return nil
	}
	units := make([]int64, len(list))
	for at, unit := range list {
		units[at], _ = unit.(int64)
	}
	return units
}

// MultiAnswer is the reply of MGRAB: units of all sales, or of none.
type MultiAnswer struct {
	Outcome string // GRANTED, REPLAY or REFUSED
	Req     string
	Grants  []Answer // one for each distinct key, in order of first mention; empty if refused
	Index   int      // index of the first refusing sale
	Refusal *Answer  // its answer; nil if none refuses
	Lost    int
	Durable *bool
}

// Won says whether the user has the units of all sales. The MultiAnswer of an error has none.
func (m MultiAnswer) Won() bool {
	for _, grant := range m.Grants {
		if !grant.Won() {
			return false
		}
	}
	return m.Refusal == nil && len(m.Grants) > 0
}

func readMulti(reply any) (MultiAnswer, error) {
	words, _ := reply.([]any)
	if len(words) < 2 {
		return MultiAnswer{}, errNoAnswer
	}
	m := MultiAnswer{}
	m.Outcome, _ = words[0].(string)
	if m.Outcome == "REFUSED" {
		index, isNumber := words[1].(int64)
		if !isNumber || len(words) < 3 {
			return m, errNoAnswer
		}
		refusal, err := ReadAnswer(words[2])
		m.Index, m.Refusal = int(index), &refusal
		return m, err
	}
	for _, row := range words[1:] {
		// Each row has the elements of GRAB's reply after the first word.
		cells, _ := row.([]any)
		grant, err := readAnswer(m.Outcome, cells)
		if err != nil {
			return m, err
		}
		m.Grants = append(m.Grants, grant)
	}
	return m, nil
}

// Row is a grant in the reply of USER or WINNERS.
type Row struct {
	Seq        int64
	User       string
	Qty        int64
	State      string
	AtMs       int64  // time of the grant, Unix ms
	DeadlineMs int64  // deadline of a hold, Unix ms; 0 if it is not held
	Req        string // the REQ of its GRAB; empty if that had none
	Epoch      int64
	Round      int64   // 0 in a sale without rounds
	Units      []int64 // its unit numbers; nil in a sale without NUMBERED
}

func readRows(reply any) ([]Row, error) {
	list, ok := reply.([]any)
	if !ok {
		return nil, errNoAnswer
	}
	rows := make([]Row, len(list))
	for at, item := range list {
		cells, _ := item.([]any)
		row := &rows[at]
		if !fill(rowFields, cells, map[string]*int64{"seq": &row.Seq, "qty": &row.Qty, "at_ms": &row.AtMs,
			"deadline_ms": &row.DeadlineMs, "epoch": &row.Epoch, "round": &row.Round},
			map[string]*string{"user": &row.User, "state": &row.State, "req": &row.Req}) {
			return nil, errNoAnswer
		}
		row.Units = unitsOf(cells[len(rowFields):])
	}
	return rows, nil
}

// User is the reply to USER.
type User struct {
	Allowance int64  // units that the user may still have; -1 without a limit
	Admission string // the admission of a GRAB now: OK, DENIED or BUSY
	Grants    []Row  // newest first
}

// Place is a place on the waiting list.
type Place struct{ Ticket, Ahead, UnitsAhead int64 }

// Event is an entry of the outbox. A repeated entry has an equal id, epoch and rev in its data.
type Event struct {
	Event  string         // GRANT, CONFIRM and so on
	Sale   string         // the sale's key at that time
	Data   map[string]any // see docs/outbox.md; numbers are json.Number
	User   string         // empty if there is none; so the next three
	Req    string
	Outbox string
	Split  string
}

// Decode reads the fields of an outbox entry, such as Values of a redis.XMessage.
func Decode(values map[string]any) (Event, error) {
	text := func(name string) string { value, _ := values[name].(string); return value }
	event := Event{text("event"), text("sale"), nil, text("user"), text("req"), text("outbox"), text("split")}
	if err := decode(text("data"), &event.Data); err != nil || event.Event == "" {
		return event, fmt.Errorf("no entry of an outbox: %v", values)
	}
	return event, nil
}

func decode(text string, object *map[string]any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(object)
}
