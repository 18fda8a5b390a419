package seckill

import (
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
