package seckill

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// The answer to a call that changes the sale: an Answer or a MultiAnswer.
type answered[T any] interface {
	word() string
	hasGrant() bool
	isSame(T) bool
}

func (a Answer) word() string { return a.Outcome }

// A fence (CANCELLED, number 0) is no grant.
func (a Answer) hasGrant() bool { return a.State != "" && a.State != "NOGRANT" && a.Seq != 0 }
func (a Answer) isSame(b Answer) bool {
	return reflect.DeepEqual(a.grant(), b.grant())
}
func (a Answer) grant() []any { return []any{a.Seq, a.Qty, a.State, a.DeadlineMs, a.Units} }

func (m MultiAnswer) word() string   { return m.Outcome }
func (m MultiAnswer) hasGrant() bool { return m.Refusal == nil }
func (m MultiAnswer) isSame(b MultiAnswer) bool {
	for at := range m.Grants {
		if at >= len(b.Grants) || !m.Grants[at].isSame(b.Grants[at]) {
			return false
		}
	}
	return true
}

// The first word of a reply, for OnAttempt.
func wordOf(value any) string {
	if told, is := value.(interface{ word() string }); is {
		return told.word()
	}
	return "OK"
}

// Sends a call. If the sale is durable, repeats the call with INCR and WAIT: the repeated call shows
// that this server has the grant, and the INCR comes after it, so the WAIT covers both. (After a
// REPLAY, which writes nothing, a WAIT alone would not wait.)
func sure[T answered[T]](ctx context.Context, s *Sale, name, req string, words []any,
	read func(any) (T, error)) (told[T], *bool, error) {
	call := call{name: name, req: req, commands: [][]any{words}, ends: time.Now().Add(s.options.Timeout)}
	first, err := ask(ctx, s, call, read)
	d := s.options.Durable
	if err != nil || d == nil || !first.value.hasGrant() {
		return first, nil, err
	}
	call.commands = [][]any{words, {"INCR", d.Mark}, {"WAIT", d.Replicas, d.Timeout.Milliseconds()}}
	call.block, call.lost, call.happened = d.Timeout, first.lost, true
	again, err := ask(ctx, s, call, read)
	if err != nil || !again.value.hasGrant() {
		return again, nil, err
	}
	if first.value.isSame(again.value) {
		again.value = first.value
	}
	reached, _ := again.replies[2].(int64)
	durable := reached >= int64(d.Replicas)
	return again, &durable, nil
}

type call struct {
	name, req string
	commands  [][]any
	ends      time.Time
	block     time.Duration // time that the server blocks in each attempt
	lost      int           // earlier attempts without a reply
	happened  bool          // it had an answer before, so an error does not mean that nothing changed
}

type told[T any] struct {
	value   T
	replies []any
	lost    int
}

const pause = 50 * time.Millisecond

const (
	// A server without a free connection says this to a new one, and executes nothing.
	full = "ERR max number of clients"
	// After this error nobody knows what was executed.
	unsure = "ERR internal error"
)

// Whether a retry can't avoid this error. Other errors are temporary, and a grant may exist.
func (c *Client) isMistake(refused *SaleError) bool {
	code := refused.Code
	passes := strings.HasPrefix(refused.Text, full) || strings.HasPrefix(refused.Text, unsure)
	return mistakes[code] && !passes || !c.isCluster() && (code == "MOVED" || code == "ASK")
}

// One attempt. Returns the replies, the server's error as a SaleError, or another error if the
// outcome is unknown. Closes connections that can't be used again.
func (c *Client) attempt(ctx context.Context, key string, commands [][]any, within time.Duration) ([]any, error) {
	dropped := c.dropped()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	replies, err := c.send(ctx, key, commands)
	text := firstError(replies)
	var refused redis.Error
	if errors.As(err, &refused) {
		text = refused.Error() // from AUTH, or from connecting
	}
	if text != "" {
		code, _, _ := strings.Cut(text, " ")
		err = &SaleError{code, text}
		if strings.Contains("READONLY LOADING MASTERDOWN CLUSTERDOWN", code) || strings.HasPrefix(text, full) {
			c.drop(dropped)
		}
	} else if err != nil && c.isCluster() && !errors.Is(err, context.Canceled) {
		c.drop(dropped)
	}
	return replies, err
}

// Retries a call until there is an answer.
func ask[T any](ctx context.Context, s *Sale, call call, read func(any) (T, error)) (told[T], error) {
	lost, why := call.lost, errors.New("no time was left")
	for made := 0; made < s.options.Attempts; made++ {
		wait := time.Duration(made) * pause
		if time.Until(call.ends) <= wait {
			break
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		if ended := ctx.Err(); ended != nil {
			why = ended
			break
		}
		begun, left := time.Now(), time.Until(call.ends)
		if made+1 < s.options.Attempts {
			left /= 2
		}
		replies, err := s.client.attempt(ctx, s.key, call.commands, left+call.block)
		var value T
		outcome := "LOST"
		refused, isRefused := err.(*SaleError)
		if err == nil {
			value, err = read(replies[0])
		}
		switch {
		case err == nil:
			outcome = wordOf(value)
		case isRefused:
			outcome = refused.Code
		default:
			lost++
		}
		if s.options.OnAttempt != nil {
			s.options.OnAttempt(call.name, outcome, lost, time.Since(begun))
		}
		if err == nil {
			return told[T]{value, replies, lost}, nil
		}
		if why = err; isRefused && s.client.isMistake(refused) {
			if lost == 0 && !call.happened {
				return told[T]{}, refused
			}
			break // The error says nothing about earlier attempts.
		}
	}
	return told[T]{}, &Unanswered{call.req, lost, why}
}
