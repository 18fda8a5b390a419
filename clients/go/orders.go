package seckill

import (
	"context"
	"errors"
	"io"
	"time"
)

const (
	entriesMax   = 100
	failuresMax  = 5
	orderTimeout = 2 * time.Second
)

// Orders reads entries of an outbox for a worker, each at least once. A repeated entry has an equal
// (id, epoch, rev) in its data. Only one goroutine may use an Orders.
type Orders struct {
	Idle   time.Duration // age of other readers' pending entries that are taken over; 60 s
	Block  time.Duration // time that one call waits for new entries; 1 s
	Follow bool          // whether to wait for new entries at the end; true

	client              *Client
	stream, group, name string
	// This reader's pending entries come first, then other readers' old ones, then new ones.
	stage    int
	last     string // the last id returned of own and new entries
	cursor   string
	looked   time.Time
	hasGroup bool
	isOver   bool
	failures int
	ready    []Order
	trimmed  map[string]bool // own entries that were trimmed and already returned
}

const (
	own = iota
	left
	fresh
)

// Order is an entry of the outbox. Its Event is nil if it was trimmed before anybody read it, and if
// somebody else wrote it into the stream.
type Order struct {
	ID    string
	Event *Event
}

// NewOrders reads a stream as the reader name of group, and creates a missing group.
func NewOrders(client *Client, stream, group, name string) *Orders {
	return &Orders{Idle: time.Minute, Block: time.Second, Follow: true, client: client, stream: stream,
		group: group, name: name, last: "0", cursor: "0-0", trimmed: map[string]bool{}}
}

// Next returns the next order; io.EOF if there is none and Follow is false. After an *Unanswered
// it can be called again; a *SaleError is final.
func (o *Orders) Next(ctx context.Context) (Order, error) {
	for len(o.ready) == 0 {
		if o.isOver {
			return Order{}, io.EOF
		}
		err := o.fill(ctx)
		var refused *SaleError
		switch {
		case ctx.Err() != nil:
			return Order{}, ctx.Err()
		case err == nil:
			continue
		case errors.As(err, &refused) && o.client.isMistake(refused) && refused.Code != "NOGROUP":
			o.isOver = true
			return Order{}, err
		case refused != nil && refused.Code == "NOGROUP":
			// The stream was deleted, or a failover lost the group.
			o.hasGroup = false
		}
		// Entries of the lost reply are now pending for this reader.
		o.stage = own
		if o.failures++; o.failures%failuresMax == 0 {
			return Order{}, &Unanswered{"", o.failures, err}
		}
		time.Sleep(pause * time.Duration(o.failures%failuresMax))
	}
	order := o.ready[0]
	o.failures = 0
	o.ready = o.ready[1:]
	return order, nil
}

// Ack acknowledges an order. After an error the order may come again.
func (o *Orders) Ack(ctx context.Context, order Order) error {
	for made := 1; ; made++ {
		_, err := o.send(ctx, orderTimeout/failuresMax, "XACK", o.stream, o.group, order.ID)
		if err == nil || made == failuresMax || ctx.Err() != nil {
			return err
		}
		time.Sleep(pause * time.Duration(made))
	}
}

func (o *Orders) send(ctx context.Context, within time.Duration, words ...any) (any, error) {
	replies, err := o.client.attempt(ctx, o.stream, [][]any{words}, within)
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

func (o *Orders) fill(ctx context.Context) error {
	if !o.hasGroup {
		_, err := o.send(ctx, orderTimeout, "XGROUP", "CREATE", o.stream, o.group, "0", "MKSTREAM")
		if refused, is := err.(*SaleError); err != nil && !(is && refused.Code == "BUSYGROUP") {
			return err
		}
		o.hasGroup = true
	}
	switch o.stage {
	case own:
		came, err := o.read(ctx, o.last, 0)
		if err == nil && came == 0 {
			o.stage = left
		}
		return err
	case left:
		return o.claim(ctx)
	}
	block := o.Block
	if !o.Follow {
		block = 0
	}
	came, err := o.read(ctx, ">", block)
	if err != nil {
		return err
	}
	o.isOver = came == 0 && !o.Follow
	o.failures = 0
	if time.Since(o.looked) >= o.Idle {
		o.stage = left
	}
	return nil
}

// Returns the number of entries.
func (o *Orders) read(ctx context.Context, after string, block time.Duration) (int, error) {
	words := []any{"XREADGROUP", "GROUP", o.group, o.name, "COUNT", entriesMax}
	if block > 0 {
		words = append(words, "BLOCK", block.Milliseconds())
	}
	reply, err := o.send(ctx, orderTimeout+block, append(words, "STREAMS", o.stream, after)...)
	if err != nil || reply == nil {
		return 0, err
	}
	// One stream: its name, and the entries.
	streams, _ := reply.([]any)
	if len(streams) == 0 {
		return 0, nil
	}
	stream, _ := streams[0].([]any)
	if len(stream) < 2 {
		return 0, errNoAnswer
	}
	entries, _ := stream[1].([]any)
	for _, entry := range entries {
		o.take(entry)
	}
	for _, order := range o.ready {
		if o.last = order.ID; order.Event == nil {
			o.trimmed[order.ID] = true
		}
	}
	return len(entries), nil
}

func (o *Orders) claim(ctx context.Context) error {
	reply, err := o.send(ctx, orderTimeout, "XAUTOCLAIM", o.stream, o.group, o.name, o.Idle.Milliseconds(),
		o.cursor, "COUNT", entriesMax)
	words, _ := reply.([]any)
	if err != nil || len(words) < 2 {
		return err
	}
	entries, _ := words[1].([]any)
	for _, entry := range entries {
		o.take(entry)
	}
	if len(words) > 2 {
		ids, _ := words[2].([]any)
		for _, id := range ids {
			// Trimmed entries of this reader that it has already returned.
			if id, _ := id.(string); o.trimmed[id] {
				delete(o.trimmed, id)
			} else {
				o.ready = append(o.ready, Order{ID: id})
			}
		}
	}
	if o.cursor, _ = words[0].(string); o.cursor == "0-0" {
		o.looked, o.stage = time.Now(), fresh
	}
	return nil
}

// A trimmed entry has no fields. An entry that is no event is returned like a trimmed one: an error
// would come again with each reading, and stop the worker for good.
func (o *Orders) take(entry any) {
	pair, _ := entry.([]any)
	if len(pair) < 2 {
		return
	}
	order := Order{}
	order.ID, _ = pair[0].(string)
	if flat, _ := pair[1].([]any); len(flat) > 0 {
		values := map[string]any{}
		for at := 0; at+1 < len(flat); at += 2 {
			name, _ := flat[at].(string)
			values[name] = flat[at+1]
		}
		if event, err := Decode(values); err == nil {
			order.Event = &event
		}
	}
	o.ready = append(o.ready, order)
}
