// Package seckill buys from seckill, a Redis and Valkey module for flash sales.
//
// A call returns an Answer, won or not. *SaleError: the server refused the call and changed nothing.
// *Unanswered: the outcome is unknown, so send the call again with its Req, which never takes units
// twice. Any other error: an argument is wrong, and nothing was sent.
package seckill

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// SaleError is an error of the server that a retry can't avoid. Nothing was changed.
type SaleError struct{ Code, Text string }

func (e *SaleError) Error() string { return e.Text }

// Unanswered means that the outcome of the call is unknown, or that the server can't execute it for
// now. Send the call again with this Req: it never takes units twice.
type Unanswered struct {
	Req  string
	Lost int // attempts without a reply
	Why  error
}

func (e *Unanswered) Error() string { return "ask again with REQ " + e.Req + ": " + e.Why.Error() }
func (e *Unanswered) Unwrap() error { return e.Why }

// Options are the limits of calls.
type Options struct {
	Timeout   time.Duration // for one call, over all its attempts and pauses; 2 s
	Attempts  int           // most attempts of one call; 5
	OnAttempt func(name, outcome string, lost int, took time.Duration)
	Durable   *Durable
}

// Durable makes answers say whether this many replicas have the grant.
type Durable struct {
	Mark     string        // the key of a counter; in a cluster it has the sale's hash tag
	Replicas int           // 1
	Timeout  time.Duration // time to wait for replicas, in addition to the call's own; 1 s
}

// Sale is one sale. Goroutines may share it.
type Sale struct {
	client  *Client
	key     string
	options Options
}

// NewSale is the sale at this key. Options may be nil for the defaults.
func NewSale(client *Client, key string, options *Options) (*Sale, error) {
	if client == nil {
		return nil, errors.New("seckill: a sale needs a client")
	}
	sale := &Sale{client, key, Options{}}
	if options != nil {
		sale.options = *options
	}
	if sale.options.Timeout == 0 {
		sale.options.Timeout = 2 * time.Second
	}
	if sale.options.Attempts == 0 {
		sale.options.Attempts = 5
	}
	if sale.options.Durable != nil {
		durable, err := sale.options.Durable.complete()
		if err != nil {
			return nil, err
		}
		if client.isCluster() && tag(durable.Mark) != tag(key) {
			return nil, errors.New("seckill: in a cluster the mark must have the sale's hash tag")
		}
		sale.options.Durable = durable
	}
	return sale, nil
}

// With the defaults in place of zeros: WAIT 0 is always content, and WAIT with a timeout of 0 ms
// never ends.
func (d Durable) complete() (*Durable, error) {
	if d.Mark == "" || d.Replicas < 0 || d.Timeout < 0 {
		return nil, errors.New("seckill: durable needs a mark, and no negative numbers")
	}
	if d.Replicas == 0 {
		d.Replicas = 1
	}
	if d.Timeout == 0 {
		d.Timeout = time.Second
	}
	if d.Timeout < time.Millisecond {
		d.Timeout = time.Millisecond
	}
	return &d, nil
}

// Home returns a user's part of a split sale, and the part's key.
func Home(name string, parts uint32, user string) (int, string) {
	part := crc32.ChecksumIEEE([]byte(user)) % parts
	return int(part), fmt.Sprintf("%s:{p%d}", name, part)
}

// Units is the quantity or the unit numbers of a GRAB. The server checks the number.
type Units []any

// One is the default of GRAB. A sale that draws amounts accepts nothing else.
var One Units

// Qty is exactly this many units.
func Qty(units int64) Units {
	if units == 1 {
		return One
	}
	return Units{"QTY", units}
}

// UpTo is at most this many units.
func UpTo(most int64) Units { return Units{"UPTO", most} }

// Adjacent is this many units with consecutive numbers, in a sale with NUMBERED.
func Adjacent(units int64) Units { return Units{"QTY", units, "ADJACENT"} }

// Exactly is the units with these numbers, in a sale with NUMBERED.
func Exactly(units ...int64) Units {
	words := Units{"UNITS"}
	for _, unit := range units {
		words = append(words, unit)
	}
	return words
}

// Grab asks for units. If req is empty, a new one is made for all attempts.
func (s *Sale) Grab(ctx context.Context, user, req string, units Units) (Answer, error) {
	return s.change(ctx, "GRAB", user, orNew(req), units...)
}

// Wait is Grab, but joins the waiting list if no units are left; until untilMs (Unix ms), 0 for no limit.
func (s *Sale) Wait(ctx context.Context, user, req string, qty, untilMs int64) (Answer, error) {
	words := append(append(Units{}, Qty(qty)...), "WAIT")
	if untilMs != 0 {
		words = append(words, "UNTIL", untilMs)
	}
	return s.change(ctx, "GRAB", user, orNew(req), words...)
}

// Place returns the user's place on the waiting list; nil if the user is not on it.
func (s *Sale) Place(ctx context.Context, user string) (*Place, error) {
	return read(ctx, s, "PLACE", func(reply any) (*Place, error) {
		words, _ := reply.([]any)
		if len(words) > 0 && words[0] == "NONE" {
			return nil, nil
		}
		answer, err := ReadAnswer(reply)
		return &Place{answer.Ticket, answer.Ahead, answer.UnitsAhead}, err
	}, user)
}

// Keep is the part of a grant that the user keeps; the other units are returned.
type Keep []any

// KeepQty keeps this many units.
func KeepQty(units int64) Keep { return Keep{units} }

// KeepUnits keeps the units with these numbers, in a sale with NUMBERED.
func KeepUnits(units ...int64) Keep { return Keep(Exactly(units...)) }

// Confirm marks a grant as paid. Here and below an empty req means the user's only grant. With keep,
// also in Cancel and Refund, the user keeps a part of the grant and returns the other units.
func (s *Sale) Confirm(ctx context.Context, user, req string, keep ...Keep) (Answer, error) {
	return s.change(ctx, "CONFIRM", user, req, part(keep)...)
}

// Reclaim is Confirm, and takes an expired hold again if units are free. It needs a req.
func (s *Sale) Reclaim(ctx context.Context, user, req string) (Answer, error) {
	return s.change(ctx, "CONFIRM", user, req, "RECLAIM")
}

// Cancel returns a hold, leaves the waiting list, or sets a fence for a req.
func (s *Sale) Cancel(ctx context.Context, user, req string, keep ...Keep) (Answer, error) {
	return s.change(ctx, "CANCEL", user, req, part(keep)...)
}

// Extend moves the deadline of a hold to at least this many ms from now.
func (s *Sale) Extend(ctx context.Context, user string, ms int64, req string) (Answer, error) {
	return s.change(ctx, "EXTEND", user, req, ms)
}

// Refund returns sold units.
func (s *Sale) Refund(ctx context.Context, user, req string, keep ...Keep) (Answer, error) {
	return s.change(ctx, "REFUND", user, req, part(keep)...)
}

// MGrab asks for units of this sale and of others in its slot: all, or none. qty is empty, one
// number for all sales, or one for each sale, beginning with this one.
func (s *Sale) MGrab(ctx context.Context, user string, others []string, req string, qty ...int64) (MultiAnswer, error) {
	words := []any{"SECKILL.MGRAB", user, len(others) + 1, s.key}
	for _, key := range others {
		words = append(words, key)
	}
	if len(qty) > 1 || len(qty) == 1 && qty[0] != 1 {
		words = append(words, "QTY")
		for _, units := range qty {
			words = append(words, units)
		}
	}
	req = orNew(req)
	told, durable, err := sure(ctx, s, "MGRAB", req, append(words, "REQ", req), readMulti)
	told.value.Req, told.value.Lost, told.value.Durable = req, told.lost, durable
	return told.value, err
}

// User returns the user's grants, and the units that the user may still have.
func (s *Sale) User(ctx context.Context, user string) (User, error) {
	return read(ctx, s, "USER", func(reply any) (User, error) {
		words, _ := reply.([]any)
		if len(words) < 3 {
			return User{}, errNoAnswer
		}
		allowance, isNumber := words[0].(int64)
		admission, isText := words[1].(string)
		rows, err := readRows(words[2])
		if !isNumber || !isText {
			err = errNoAnswer
		}
		return User{allowance, admission, rows}, err
	}, user)
}

// Units has a character for each number from first (1, ...) on: '.' free, 'h' held, 's' sold.
func (s *Sale) Units(ctx context.Context, first, count int64) (string, error) {
	return read(ctx, s, "UNITS", func(reply any) (string, error) {
		text, isText := reply.(string)
		if !isText {
			return "", errNoAnswer
		}
		return text, nil
	}, first, "COUNT", count)
}

// Unit is the grant that has this number; nil if none has.
func (s *Sale) Unit(ctx context.Context, unit int64) (*Row, error) {
	return read(ctx, s, "UNIT", func(reply any) (*Row, error) {
		if reply == nil {
			return nil, nil
		}
		rows, err := readRows([]any{reply})
		if err != nil {
			return nil, err
		}
		return &rows[0], nil
	}, unit)
}

// Status is the JSON object of STATUS; numbers are json.Number.
func (s *Sale) Status(ctx context.Context) (map[string]any, error) {
	return read(ctx, s, "STATUS", func(reply any) (status map[string]any, err error) {
		text, _ := reply.(string)
		return status, decode(text, &status)
	}, "JSON")
}

// Winners calls each for grants in the order of their numbers, until it returns an error. It reads
// page by page. state: LIVE, ALL or a state; after: the last number of an earlier listing, or 0.
func (s *Sale) Winners(ctx context.Context, state string, after int64, each func(Row) error) error {
	for {
		var rows []Row
		next, err := read(ctx, s, "WINNERS", func(reply any) (next int64, err error) {
			words, _ := reply.([]any)
			if len(words) < 2 {
				return 0, errNoAnswer
			}
			next, isNumber := words[0].(int64)
			if rows, err = readRows(words[1]); !isNumber {
				err = errNoAnswer
			}
			return next, err
		}, after, "COUNT", 1000, "STATE", state)
		for _, row := range rows {
			if err == nil {
				err = each(row)
			}
		}
		if err != nil || next == 0 {
			return err
		}
		after = next
	}
}

func part(keep []Keep) (words []any) {
	for _, left := range keep {
		words = append(append(words, "KEEP"), left...)
	}
	return words
}

func orNew(req string) string {
	if req != "" {
		return req
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		panic(err) // The system has no random numbers.
	}
	return hex.EncodeToString(random)
}

func read[T any](ctx context.Context, s *Sale, name string, read func(any) (T, error), more ...any) (T, error) {
	words := append([]any{"SECKILL." + name, s.key}, more...)
	ends := time.Now().Add(s.options.Timeout)
	told, err := ask(ctx, s, call{name: name, commands: [][]any{words}, ends: ends}, read)
	return told.value, err
}

func (s *Sale) change(ctx context.Context, name, user, req string, more ...any) (Answer, error) {
	words := append([]any{"SECKILL." + name, s.key, user}, more...)
	if req != "" {
		words = append(words, "REQ", req)
	}
	told, durable, err := sure(ctx, s, name, req, words, ReadAnswer)
	told.value.Req, told.value.Lost, told.value.Durable = req, told.lost, durable
	return told.value, err
}
