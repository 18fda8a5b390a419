package seckill

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

const redirectsMax = 5

// Client calls the servers of an application's go-redis client, over connections of its own. The
// go-redis client would retry calls by itself and ignore their deadlines. Goroutines may share a
// Client.
type Client struct {
	base  redis.UniversalClient
	mutex sync.Mutex
	nodes map[string]*redis.Client // by address; "" for a single server or Sentinel
	moved map[string]string        // hash tags of moved slots, with the new address
}

// New takes a *redis.Client (a single server, or NewFailoverClient's: Sentinel) or a
// *redis.ClusterClient. It does not change that client's options.
func New(base redis.UniversalClient) (*Client, error) {
	single, isSingle := base.(*redis.Client)
	cluster, isCluster := base.(*redis.ClusterClient)
	if isSingle && single != nil || isCluster && cluster != nil {
		return &Client{base: base, nodes: map[string]*redis.Client{}, moved: map[string]string{}}, nil
	}
	return nil, fmt.Errorf("seckill: %T is no client that this library knows", base)
}

// Close closes its own connections.
func (c *Client) Close() { c.drop(context.Background()) }

func (c *Client) isCluster() bool {
	_, is := c.base.(*redis.ClusterClient)
	return is
}

// The hash tag of a key, or the whole key. Keys with equal tags are in one slot.
func tag(key string) string {
	if from := strings.IndexByte(key, '{'); from >= 0 {
		if length := strings.IndexByte(key[from+1:], '}'); length > 0 {
			return key[from+1 : from+1+length]
		}
	}
	return key
}

// The node at this address, or the known owner of the key.
func (c *Client) node(ctx context.Context, key, addr string) (*redis.Client, error) {
	like, isSingle := c.base.(*redis.Client)
	if !isSingle {
		known, err := c.base.(*redis.ClusterClient).MasterForKey(ctx, key)
		if err != nil {
			return nil, err
		}
		like = known
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !isSingle && addr == "" {
		if addr = c.moved[tag(key)]; addr == "" {
			addr = like.Options().Addr
		}
	}
	if c.nodes[addr] == nil {
		options := *like.Options()
		if addr != "" {
			options.Addr = addr
		}
		options.MaxRetries, options.ContextTimeoutEnabled, options.MinIdleConns = -1, true, 0
		// RESP2, because RESP3 adds nothing here. The other client keeps its processor of pushes.
		options.Protocol, options.PushNotificationProcessor = 2, nil
		// Each call sets its own deadline.
		options.ReadTimeout, options.WriteTimeout = -1, -1
		c.nodes[addr] = redis.NewClient(&options)
	}
	return c.nodes[addr], nil
}

// Sends these commands over one connection to the node that owns the key. A redis.Error among the
// replies is the server's.
func (c *Client) send(ctx context.Context, key string, commands [][]any) ([]any, error) {
	addr, asking := "", false
	for redirects := 0; ; redirects++ {
		node, err := c.node(ctx, key, addr)
		if err != nil {
			return nil, err
		}
		replies, err := exchange(ctx, node, commands, asking)
		if err != nil {
			return nil, err
		}
		words := strings.Fields(firstError(replies))
		isRedirect := len(words) == 3 && (words[0] == "MOVED" || words[0] == "ASK")
		if !isRedirect || !c.isCluster() || redirects == redirectsMax {
			return replies, nil
		}
		if addr, asking = words[2], words[0] == "ASK"; strings.HasPrefix(addr, ":") {
			host := node.Options().Addr
			addr = host[:strings.LastIndexByte(host, ':')] + addr
		}
		if !asking {
			c.mutex.Lock()
			c.moved[tag(key)] = addr
			c.mutex.Unlock()
			c.base.(*redis.ClusterClient).ReloadState(ctx)
		}
	}
}

func exchange(ctx context.Context, node *redis.Client, commands [][]any, asking bool) ([]any, error) {
	pipe := node.Pipeline()
	all := make([]*redis.Cmd, len(commands))
	for at, words := range commands {
		if asking {
			pipe.Do(ctx, "ASKING")
		}
		all[at] = pipe.Do(ctx, words...)
	}
	// Each command has its own error.
	_, _ = pipe.Exec(ctx)
	replies := make([]any, len(all))
	for at, command := range all {
		reply, err := command.Result()
		var refused redis.Error
		switch {
		case err == nil:
			replies[at] = reply
		case errors.Is(err, redis.Nil):
		case errors.As(err, &refused):
			replies[at] = refused
		default:
			return nil, err
		}
	}
	return replies, nil
}

func firstError(replies []any) string {
	for _, reply := range replies {
		if refused, is := reply.(redis.Error); is {
			return refused.Error()
		}
	}
	return ""
}

// Closes all idle connections.
func (c *Client) drop(ctx context.Context) {
	c.mutex.Lock()
	old := c.nodes
	c.nodes, c.moved = map[string]*redis.Client{}, map[string]string{}
	c.mutex.Unlock()
	for _, node := range old {
		_ = node.Close()
	}
	if cluster, is := c.base.(*redis.ClusterClient); is {
		cluster.ReloadState(ctx)
	}
}
