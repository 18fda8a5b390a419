package seckill

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const redirectsMax = 5

// Client calls the servers of an application's go-redis client, over connections of its own. The
// go-redis client would retry calls by itself and ignore their deadlines, and its map of a cluster
// waits for a dead node. Goroutines may share a Client.
type Client struct {
	base   redis.UniversalClient
	mutex  sync.Mutex
	like   *redis.Options     // of a server
	nodes  map[string]*server // by address; "" for a single server or Sentinel
	drops  int                // how often all nodes were left
	known  []string           // addresses of the cluster's nodes
	owners map[string]string  // addresses, by hash tag
	silent map[string]bool    // nodes that have not replied since they were sent something
}

// The connections to a server, and the calls that use them now.
type server struct {
	*redis.Client
	calls sync.WaitGroup
}

// New takes a *redis.Client (a single server, or NewFailoverClient's: Sentinel) or a
// *redis.ClusterClient. It does not change that client's options.
func New(base redis.UniversalClient) (*Client, error) {
	c := &Client{base: base, nodes: map[string]*server{}, owners: map[string]string{}, silent: map[string]bool{}}
	single, isSingle := base.(*redis.Client)
	cluster, isCluster := base.(*redis.ClusterClient)
	if isSingle && single != nil {
		c.like = single.Options()
		return c, nil
	}
	if isCluster && cluster != nil {
		return c, nil
	}
	return nil, fmt.Errorf("seckill: %T is no client that this library knows", base)
}

// Close closes its own connections, those in use after the calls that use them.
func (c *Client) Close() { c.drop(c.dropped()) }

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

// The slot of a key: CRC-16 (XMODEM) of its hash tag.
func slot(key string) int {
	var crc uint16
	for _, b := range []byte(tag(key)) {
		crc ^= uint16(b) << 8
		for bit := 0; bit < 8; bit++ {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}

// An address of a redirection. One without a host is on the host of the node that named it.
func address(named, by string) string {
	colon := strings.LastIndexByte(named, ':')
	host, port := strings.Trim(named[:colon], "[]"), named[colon+1:]
	if host == "" {
		host, _, _ = net.SplitHostPort(by)
	}
	return net.JoinHostPort(host, port)
}

// The client for the server at this address. After its use comes calls.Done.
func (c *Client) node(addr string) *server {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.nodes[addr] == nil {
		options := *c.like
		if addr != "" {
			options.Addr = addr
		}
		options.MaxRetries, options.ContextTimeoutEnabled, options.MinIdleConns = -1, true, 0
		// RESP2, because RESP3 adds nothing here. The other client keeps its processor of pushes.
		options.Protocol, options.PushNotificationProcessor = 2, nil
		// Each call sets its own deadline.
		options.ReadTimeout, options.WriteTimeout = -1, -1
		c.nodes[addr] = &server{Client: redis.NewClient(&options)}
	}
	c.nodes[addr].calls.Add(1)
	return c.nodes[addr]
}

// Learns the first nodes and their options. go-redis connects for this, whatever the deadline.
func (c *Client) learn(ctx context.Context, key string) error {
	c.mutex.Lock()
	isKnown := c.like != nil
	c.mutex.Unlock()
	if isKnown {
		return nil
	}
	learned := make(chan error, 1)
	go func() {
		cluster := c.base.(*redis.ClusterClient)
		node, err := cluster.MasterForKey(context.Background(), key)
		if err == nil {
			c.mutex.Lock()
			c.like = node.Options()
			c.known = append([]string{c.like.Addr}, cluster.Options().Addrs...)
			c.mutex.Unlock()
		}
		learned <- err
	}()
	select {
	case err := <-learned:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The owner of the key's slot. If it is unknown, asks one node after the other.
func (c *Client) owner(ctx context.Context, key string) (string, error) {
	if err := c.learn(ctx, key); err != nil {
		return "", err
	}
	c.mutex.Lock()
	owner := c.owners[tag(key)]
	all := append([]string{}, c.known...)
	// A node that is cut off from the others still names the owner of yesterday: not always the
	// same one.
	rand.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	sort.SliceStable(all, func(a, b int) bool { return !c.silent[all[a]] && c.silent[all[b]] })
	c.mutex.Unlock()
	err := errors.New("seckill: no node of the cluster is known")
	for at := 0; owner == "" && at < len(all); at++ {
		ends, _ := ctx.Deadline()
		part, cancel := context.WithTimeout(ctx, time.Until(ends)/time.Duration(len(all)-at))
		owner, err = c.askNode(part, all[at], key)
		cancel()
	}
	if owner == "" {
		return "", err
	}
	return owner, nil
}

// Asks a node for the owner of the key's slot, and for all nodes.
func (c *Client) askNode(ctx context.Context, asked, key string) (string, error) {
	c.hears(asked, false)
	node := c.node(asked)
	ranges, err := node.ClusterSlots(ctx).Result()
	node.calls.Done()
	if err != nil {
		return "", err
	}
	c.hears(asked, true)
	owner, all, wanted := "", map[string]bool{}, slot(key)
	for _, one := range ranges {
		for at, member := range one.Nodes {
			addr := address(member.Addr, asked)
			if at == 0 && one.Start <= wanted && wanted <= one.End {
				owner = addr
			}
			all[addr] = true
		}
	}
	if owner == "" {
		return "", errors.New("seckill: no node of the cluster has the sale's slot")
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.owners[tag(key)] = owner
	c.known = append([]string{}, c.base.(*redis.ClusterClient).Options().Addrs...)
	for addr := range all {
		c.known = append(c.known, addr)
	}
	return owner, nil
}

// Notes whether a node has replied to all that it was sent.
func (c *Client) hears(addr string, hears bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if hears {
		delete(c.silent, addr)
	} else {
		c.silent[addr] = true
	}
}

// Sends these commands over one connection to the node that owns the key. A redis.Error among the
// replies is the server's.
func (c *Client) send(ctx context.Context, key string, commands [][]any) ([]any, error) {
	if !c.isCluster() {
		return exchange(ctx, c.node(""), commands, false)
	}
	addr, err := c.owner(ctx, key)
	if err != nil {
		return nil, err
	}
	asking := false
	for redirects := 0; ; redirects++ {
		c.hears(addr, false)
		replies, err := exchange(ctx, c.node(addr), commands, asking)
		if err != nil {
			return nil, err
		}
		c.hears(addr, true)
		words := strings.Fields(firstError(replies))
		isRedirect := len(words) == 3 && strings.Contains(words[2], ":") && (words[0] == "MOVED" || words[0] == "ASK")
		if !isRedirect || redirects == redirectsMax {
			return replies, nil
		}
		addr, asking = address(words[2], addr), words[0] == "ASK"
		if !asking {
			c.mutex.Lock()
			c.owners[tag(key)] = addr
			c.mutex.Unlock()
		}
	}
}

func exchange(ctx context.Context, node *server, commands [][]any, asking bool) ([]any, error) {
	defer node.calls.Done()
	pipe := node.Pipeline()
	all := make([]*redis.Cmd, len(commands))
	for at, words := range commands {
		if asking {
			pipe.Do(ctx, "ASKING")
		}
		all[at] = pipe.Do(ctx, words...)
	}
	_, failed := pipe.Exec(ctx)
	replies := make([]any, len(all))
	for at, command := range all {
		reply, err := command.Result()
		if err == nil && reply == nil {
			// Each command has its own error, but none has one if there was no connection.
			err = failed
		}
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

// How often all nodes were left.
func (c *Client) dropped() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.drops
}

// Leaves all nodes, unless that was done since `dropped` was read: not each of many calls that fail at
// once may close what the others have connected anew. go-redis closes connections in use as well, so
// each node is closed after the calls that use it.
func (c *Client) drop(dropped int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.drops != dropped {
		return
	}
	for _, node := range c.nodes {
		go func(node *server) {
			node.calls.Wait()
			_ = node.Close()
		}(node)
	}
	c.drops++
	c.nodes, c.owners = map[string]*server{}, map[string]string{}
}
