// Executes for `make clients` one call for each JSON line on stdin, and prints the result as a JSON
// line: see clients/cases.md.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	seckill "seckill.example/client"
)

type object = map[string]any

var ctx = context.Background()

func main() {
	var told struct {
		Port, Resp int
		On         string
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &told); err != nil {
		panic(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", told.Port)
	var base redis.UniversalClient = redis.NewClient(&redis.Options{Addr: addr, Protocol: told.Resp})
	switch told.On {
	case "cluster":
		base = redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, Protocol: told.Resp})
	case "sentinel":
		base = redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: "mymaster", SentinelAddrs: []string{addr}, Protocol: told.Resp})
	}
	client, err := seckill.New(base)
	if err != nil {
		panic(err)
	}
	lines := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var order task
		if err := json.Unmarshal(line, &order); err != nil {
			panic(err)
		}
		if err := out.Encode(run(base, client, order)); err != nil {
			panic(err)
		}
	}
}

// An id: a text, or bytes in hexadecimal; null for none.
type id string

func (i *id) UnmarshalJSON(raw []byte) error {
	var bytes struct{ Hex string }
	var text *string
	if err := json.Unmarshal(raw, &text); err == nil {
		if text != nil {
			*i = id(*text)
		}
		return nil
	}
	err := json.Unmarshal(raw, &bytes)
	decoded, _ := hex.DecodeString(bytes.Hex)
	*i = id(decoded)
	return err
}

// A raw reply in the form of go-redis.
func raw(word any) any {
	switch told := word.(type) {
	case float64:
		return int64(told)
	case []any:
		for at := range told {
			told[at] = raw(told[at])
		}
	}
	return word
}

func plain(id string) any {
	if utf8.ValidString(id) {
		return id
	}
	return object{"hex": hex.EncodeToString([]byte(id))}
}

func orNull(id string) any {
	if id == "" {
		return nil
	}
	return plain(id)
}

type task struct {
	Call, State, Group, Name string
	Key, User, Req           id
	Qty                      any
	Upto, Ms, Idle_ms        *int64
	Until_ms, After          int64
	Keep                     any
	Units                    []int64
	First, Count, Unit       int64
	Adjacent                 bool
	Reclaim, Ack             bool
	Others                   []string
	Parts                    uint32
	Reply                    []any
	Timeout_ms               int64
	Attempts                 int
	Durable                  *struct {
		Mark       string
		Replicas   *int
		Timeout_ms *int64
	}
}

func run(base redis.UniversalClient, client *seckill.Client, order task) object {
	key, user := string(order.Key), string(order.User)
	switch order.Call {
	case "outbox":
		entries, err := base.XRange(ctx, key, "-", "+").Result()
		if err != nil {
			panic(err)
		}
		events := []any{}
		for _, entry := range entries {
			decoded, err := seckill.Decode(entry.Values)
			if err != nil {
				panic(err)
			}
			events = append(events, event(&decoded))
		}
		return object{"events": events}
	case "home":
		part, _ := seckill.Home(key, order.Parts, user)
		return object{"part": part}
	case "answer":
		for at, word := range order.Reply {
			order.Reply[at] = raw(word)
		}
		told, err := seckill.ReadAnswer(order.Reply)
		if err != nil {
			panic(err)
		}
		return answer(told)
	}
	if order.Parts > 0 {
		_, key = seckill.Home(key, order.Parts, user)
	}
	attempts := []any{}
	options := seckill.Options{
		Timeout: time.Duration(order.Timeout_ms) * time.Millisecond, Attempts: order.Attempts,
		OnAttempt: func(name, outcome string, lost int, _ time.Duration) {
			attempts = append(attempts, []any{name, outcome, lost})
		},
	}
	if told := order.Durable; told != nil {
		options.Durable = &seckill.Durable{Mark: told.Mark}
		if told.Replicas != nil {
			options.Durable.Replicas = *told.Replicas
		}
		if told.Timeout_ms != nil {
			options.Durable.Timeout = time.Duration(*told.Timeout_ms) * time.Millisecond
		}
	}
	sale, err := seckill.NewSale(client, key, &options)
	line := object{}
	if err == nil {
		line, err = call(sale, client, order)
	}
	var refused *seckill.SaleError
	var unanswered *seckill.Unanswered
	switch {
	case errors.As(err, &unanswered):
		line = object{"error": "Unanswered", "req": plain(unanswered.Req), "lost": unanswered.Lost}
	case errors.As(err, &refused):
		line = object{"error": "SaleError", "code": refused.Code}
	case err != nil:
		line = object{"error": "TypeError"}
	}
	line["attempts"] = attempts
	return line
}

func call(sale *seckill.Sale, client *seckill.Client, order task) (object, error) {
	user, req := string(order.User), string(order.Req)
	var keep []seckill.Keep
	switch left := order.Keep.(type) {
	case float64:
		keep = append(keep, seckill.KeepQty(int64(left)))
	case []any:
		var units []int64
		for _, unit := range left {
			units = append(units, int64(unit.(float64)))
		}
		keep = append(keep, seckill.KeepUnits(units...))
	}
	qty := []int64{}
	switch told := order.Qty.(type) {
	case float64:
		qty = append(qty, int64(told))
	case []any:
		for _, units := range told {
			qty = append(qty, int64(units.(float64)))
		}
	}
	one := func(told seckill.Answer, err error) (object, error) { return answer(told), err }
	switch order.Call {
	case "grab":
		units := seckill.One
		if len(qty) > 0 {
			units = seckill.Qty(qty[0])
		}
		if order.Upto != nil {
			units = seckill.UpTo(*order.Upto)
		}
		if order.Units != nil {
			units = seckill.Exactly(order.Units...)
		}
		if order.Adjacent {
			units = seckill.Adjacent(append(qty, 1)[0])
		}
		return one(sale.Grab(ctx, user, req, units))
	case "wait":
		if len(qty) == 0 {
			qty = append(qty, 1)
		}
		return one(sale.Wait(ctx, user, req, qty[0], order.Until_ms))
	case "place":
		place, err := sale.Place(ctx, user)
		if err != nil || place == nil {
			return object{}, err
		}
		return object{"ticket": place.Ticket, "ahead": place.Ahead, "units_ahead": place.UnitsAhead}, nil
	case "confirm":
		if order.Reclaim {
			return one(sale.Reclaim(ctx, user, req))
		}
		return one(sale.Confirm(ctx, user, req, keep...))
	case "cancel":
		return one(sale.Cancel(ctx, user, req, keep...))
	case "extend":
		return one(sale.Extend(ctx, user, *order.Ms, req))
	case "refund":
		return one(sale.Refund(ctx, user, req, keep...))
	case "mgrab":
		told, err := sale.MGrab(ctx, user, order.Others, req, qty...)
		return multi(told), err
	case "units":
		if order.First == 0 {
			order.First = 1
		}
		if order.Count == 0 {
			order.Count = 1000
		}
		told, err := sale.Units(ctx, order.First, order.Count)
		return object{"units": told}, err
	case "unit":
		told, err := sale.Unit(ctx, order.Unit)
		if err != nil || told == nil {
			return object{}, err
		}
		return row(*told), nil
	case "status":
		return sale.Status(ctx)
	case "user":
		told, err := sale.User(ctx, user)
		grants := []any{}
		for _, grant := range told.Grants {
			grants = append(grants, row(grant))
		}
		return object{"allowance": told.Allowance, "admission": told.Admission, "grants": grants}, err
	case "winners":
		line := object{"count": 0}
		if order.State == "" {
			order.State = "LIVE"
		}
		err := sale.Winners(ctx, order.State, order.After, func(told seckill.Row) error {
			if line["count"] == 0 {
				line["first"] = row(told)
			}
			line["count"], line["last"] = line["count"].(int)+1, row(told)
			return nil
		})
		return line, err
	}
	return orders(client, order)
}

func orders(client *seckill.Client, order task) (object, error) {
	reader := seckill.NewOrders(client, string(order.Key), order.Group, order.Name)
	reader.Follow = false
	if order.Idle_ms != nil {
		reader.Idle = time.Duration(*order.Idle_ms) * time.Millisecond
	}
	events := []any{}
	for {
		told, err := reader.Next(ctx)
		if err == io.EOF {
			return object{"events": events}, nil
		}
		if err != nil {
			return nil, err
		}
		events = append(events, event(told.Event))
		if order.Ack {
			if err := reader.Ack(ctx, told); err != nil {
				return nil, err
			}
		}
	}
}

func answer(a seckill.Answer) object {
	line := object{"outcome": a.Outcome, "won": a.Won(), "req": plain(a.Req), "lost": a.Lost, "durable": a.Durable}
	if a.Units != nil {
		line["units"] = a.Units
	}
	if a.State != "" {
		line["state"] = a.State
	}
	for name, number := range map[string]int64{
		"seq": a.Seq, "qty": a.Qty, "deadline_ms": a.DeadlineMs, "available": a.Available, "held": a.Held,
		"allowance": a.Allowance, "opens_in_ms": a.OpensInMs, "unit": a.Unit, "ticket": a.Ticket, "ahead": a.Ahead,
		"units_ahead": a.UnitsAhead,
	} {
		if a.Has(name) {
			line[name] = number
		}
	}
	return line
}

func multi(m seckill.MultiAnswer) object {
	grants := []any{}
	for _, grant := range m.Grants {
		grants = append(grants, answer(grant))
	}
	line := object{"outcome": m.Outcome, "won": m.Won(), "req": plain(m.Req), "lost": m.Lost,
		"durable": m.Durable, "grants": grants}
	if m.Refusal != nil {
		line["index"], line["refusal"] = m.Index, answer(*m.Refusal)
	}
	return line
}

func row(r seckill.Row) object {
	return object{"seq": r.Seq, "user": plain(r.User), "qty": r.Qty, "state": r.State, "at_ms": r.AtMs,
		"deadline_ms": r.DeadlineMs, "req": orNull(r.Req), "epoch": r.Epoch, "round": r.Round, "units": r.Units}
}

func event(e *seckill.Event) any {
	if e == nil {
		return nil
	}
	return object{"event": e.Event, "sale": plain(e.Sale), "data": e.Data, "user": orNull(e.User),
		"req": orNull(e.Req), "outbox": orNull(e.Outbox), "split": orNull(e.Split)}
}
