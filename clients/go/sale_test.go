package seckill

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func client(t *testing.T) *Client {
	t.Helper()
	client, err := New(redis.NewClient(&redis.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestDurableHasDefaults(t *testing.T) {
	for given, wanted := range map[Durable]Durable{
		{Mark: "m"}:                            {"m", 1, time.Second},
		{Mark: "m", Replicas: 2}:               {"m", 2, time.Second},
		{Mark: "m", Timeout: time.Minute}:      {"m", 1, time.Minute},
		{Mark: "m", Timeout: time.Microsecond}: {"m", 1, time.Millisecond},
	} {
		given := given
		sale, err := NewSale(client(t), "sale:a", &Options{Durable: &given})
		if err != nil || *sale.options.Durable != wanted {
			t.Errorf("%v: %v, %v", given, sale.options.Durable, err)
		}
	}
	for _, wrong := range []Durable{{}, {Mark: "m", Replicas: -1}, {Mark: "m", Timeout: -1}} {
		if _, err := NewSale(client(t), "sale:a", &Options{Durable: &wrong}); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}

func TestNoGrantsAreNotWon(t *testing.T) {
	held, gone := Answer{State: "HELD", Seq: 1}, Answer{State: "CANCELLED", Seq: 1}
	for won, answers := range map[bool][]MultiAnswer{
		true: {{Grants: []Answer{held}}, {Grants: []Answer{held, held}}},
		false: {{}, {Req: "o-1", Lost: 5}, {Grants: []Answer{held, gone}},
			{Grants: []Answer{held}, Refusal: &Answer{}}},
	} {
		for _, answer := range answers {
			if answer.Won() != won {
				t.Errorf("%v: %v", answer, !won)
			}
		}
	}
}

func TestFenceIsNoGrant(t *testing.T) {
	for grant, answer := range map[bool]Answer{
		true: {State: "CANCELLED", Seq: 1}, false: {State: "CANCELLED"},
	} {
		if answer.hasGrant() != grant {
			t.Errorf("%v: %v", answer, !grant)
		}
	}
}

func TestForeignEntryIsReturnedWithoutEvent(t *testing.T) {
	orders := NewOrders(client(t), "orders", "g", "w")
	orders.take([]any{"1-0", []any{"hello", "world"}})
	orders.take([]any{"2-0", []any{"event", "GRANT", "sale", "sale:a", "data", `{"id": 1}`}})
	if len(orders.ready) != 2 || orders.ready[0].Event != nil || orders.ready[0].ID != "1-0" {
		t.Fatalf("%v", orders.ready)
	}
	if event := orders.ready[1].Event; event == nil || event.Event != "GRANT" {
		t.Errorf("%v", event)
	}
}

func TestAddressWithoutHostIsOnTheNodeThatNamedIt(t *testing.T) {
	for named, wanted := range map[string]string{
		":2": "a:2", "b:2": "b:2", "::1:2": "[::1]:2", "[::1]:2": "[::1]:2",
	} {
		if addr := address(named, "a:1"); addr != wanted {
			t.Errorf("%s: %s", named, addr)
		}
	}
}

func TestSlots(t *testing.T) {
	for key, wanted := range map[string]int{"123456789": 12739, "sale:{123456789}": 12739} {
		if slot(key) != wanted {
			t.Errorf("%s: %d", key, slot(key))
		}
	}
}

// Plays a server: `reply` has the reply to each command. Returns its address.
func serve(t *testing.T, reply func(words []string) string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					words, err := command(in)
					if err != nil {
						return
					}
					_, _ = io.WriteString(conn, reply(words))
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func command(in *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	count, err := number()
	words := make([]string, count)
	for at := range words {
		var length int
		if length, err = number(); err != nil {
			return nil, err
		}
		word := make([]byte, length+2)
		if _, err = io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words[at] = string(word[:length])
	}
	return words, err
}

func TestADroppedConnectionEndsNoOtherCall(t *testing.T) {
	arrived, release := make(chan bool), make(chan bool)
	addr := serve(t, func(words []string) string {
		switch {
		case words[0] != "SECKILL.GRAB":
			return "-ERR unknown command\r\n"
		case words[2] == "alice":
			arrived <- true
			<-release
			return "*6\r\n$7\r\nGRANTED\r\n:1\r\n:1\r\n$4\r\nSOLD\r\n:0\r\n:9\r\n"
		}
		return "-READONLY You can't write against a read only replica.\r\n"
	})
	client, err := New(redis.NewClient(&redis.Options{Addr: addr}))
	if err != nil {
		t.Fatal(err)
	}
	sale, err := NewSale(client, "sale:a", &Options{Timeout: 20 * time.Second, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	slow := make(chan error)
	go func() {
		_, err := sale.Grab(context.Background(), "alice", "o-1", One)
		slow <- err
	}()
	<-arrived
	var unanswered *Unanswered
	if _, err := sale.Grab(context.Background(), "bob", "o-2", One); !errors.As(err, &unanswered) {
		t.Errorf("%v", err)
	}
	close(release)
	if err := <-slow; err != nil {
		t.Errorf("%v", err)
	}
}

func TestACallThatWasCancelledIsNotLost(t *testing.T) {
	sale, err := NewSale(client(t), "sale:a", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = sale.Grab(ctx, "alice", "o-1", One)
	var unanswered *Unanswered
	if !errors.As(err, &unanswered) || unanswered.Lost != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
