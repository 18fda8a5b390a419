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

// Client reaches the servers that an application's go-redis client knows, with connections of its
// own: that client would repeat calls by itself, and not keep to their deadlines. Goroutines share it.
type Client struct {
	base  redis.UniversalClient
	mutex sync.Mutex
	nodes map[string]*redis.Client // by address; "" is a single server's or Sentinel's
	moved map[string]string        // hash tags whose slot was said to have moved, and where to
}

// New takes a *redis.Client (a single server, or NewFailoverClient's: Sentinel) or a
// *redis.ClusterClient. Its options are left as they are.
func New(base redis.UniversalClient) (*Client, error) {
	single, isSingle := base.(*redis.Client)
	cluster, isCluster := base.(*redis.ClusterClient)
	if isSingle && single != nil || isCluster && cluster != nil {
		return &Client{base: base, nodes: map[string]*redis.Client{}, moved: map[string]string{}}, nil
	}
	return nil, fmt.Errorf("seckill: %T is no client that this library knows", base)
}

// Close closes the connections of its own.
func (c *Client) Close() { c.drop(context.Background()) }

func (c *Client) isCluster() bool {
	_, is := c.base.(*redis.ClusterClient)
	return is
}

// Keys with the same hash tag are in the same slot; without a tag the whole key counts.
func tag(key string) string {
	if from := strings.IndexByte(key, '{'); from >= 0 {
		if length := strings.IndexByte(key[from+1:], '}'); length > 0 {
			return key[from+1 : from+1+length]
		}
	}
	return key
}

// The node at this address, or the one that is said to have the key.
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
		// RESP2: replies of RESP3 tell nothing more. A processor of pushes serves the other client only.
		options.Protocol, options.PushNotificationProcessor = 2, nil
		// Each call has a deadline.
		options.ReadTimeout, options.WriteTimeout = -1, -1
		c.nodes[addr] = redis.NewClient(&options)
	}
	return c.nodes[addr], nil
}

// Sends these commands over one connection to the node that has the key. A redis.Error among the
// replies is one of the server.
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
	// Each command carries its own error.
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

// Closes all idle connections, so that none of them is used again.
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
