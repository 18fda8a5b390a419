// Connections to the servers of an ioredis or node-redis client, separate from the client's own. So
// calls have their own timeouts, retries and slot map, and the client is not changed. Open
// connections don't keep a program running.
'use strict';

const { once } = require('node:events');

const REDIRECTS = 5;
const SLOTS = 16384;
// Connections to a node for commands that block. The server answers a connection's commands one after
// the other, so each exchange has one of its own, until there are so many.
const BLOCKING = 100;
// A connect goes on after the attempt that began it, but for no longer: the server may have been replaced.
const CONNECT_MS = 3000;
// ioredis asks Sentinels in their order, and waits 10 s for a host that is gone, for ever for one that hangs.
const SENTINEL_MS = 1000;
// Codes of a server that is not the primary, or not ready yet.
const DROPPING = ['READONLY', 'LOADING', 'MASTERDOWN'];
// Classes of error replies in both clients.
const REPLIES = /^(ReplyError|ErrorReply|SimpleError|BlobError)$/;

/** The first word of an error reply; undefined for any other error. */
function codeOf(error) {
  const isReply = REPLIES.test(error?.name) || REPLIES.test(error?.constructor?.name);
  return isReply ? error.message.split(' ', 1)[0] : undefined;
}

/** Whether a server without a free connection says so. It has executed nothing. */
function isFull(error) {
  return codeOf(error) === 'ERR' && error.message.includes('max number of clients');
}

/** Whether it passes although it begins with ERR. After an internal error nobody knows what was executed. */
function passes(error) {
  return isFull(error) || (codeOf(error) === 'ERR' && error.message.startsWith('ERR internal error'));
}

/** The slot: CRC-16 (XMODEM) of the key, or of its hash tag. */
function slotOf(key) {
  let bytes = Buffer.from(key);
  const open = bytes.indexOf('{');
  const close = open < 0 ? -1 : bytes.indexOf('}', open);
  if (close > open + 1) bytes = bytes.subarray(open + 1, close);
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return (crc & 0xffff) % SLOTS;
}

/** Operations on a client of ioredis. */
const IOREDIS = {
  prefix: (client) => client.options.keyPrefix ?? '',
  async seeds(cluster) {
    if (cluster.status === 'wait') cluster.connect().catch(() => {});
    if (cluster.status !== 'ready') await once(cluster, 'ready');
    return cluster.nodes('all').map(({ options }) => [options.host, options.port]);
  },
  mapped: (cluster, host, port) => {
    const at = cluster.options.natMap?.[`${host}:${port}`];
    return at ? [at.host, at.port] : [host, port];
  },
  async connect(client, address) {
    const model = client.isCluster ? client.nodes('all')[0] : client;
    const begun = performance.now();
    const link = model.duplicate({
      ...(address && { host: address[0], port: address[1] }),
      keyPrefix: '', lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: null,
      autoResendUnfulfilledCommands: false, enableAutoPipelining: false, readOnly: false,
      enableOfflineQueue: true, commandTimeout: undefined, socketTimeout: undefined,
      sentinelCommandTimeout: model.options.sentinelCommandTimeout ?? SENTINEL_MS,
      // Otherwise ioredis asks Sentinels that are gone for ever, also after this link was given up.
      sentinelRetryStrategy: (times) => (performance.now() - begun < CONNECT_MS ? Math.min(times * 10, 1000) : null),
    });
    // The server's own error, such as WRONGPASS, is told to listeners only.
    let refusal;
    link.on('error', (error) => { if (codeOf(error)) refusal = error; });
    try {
      await link.connect();
    } catch (error) {
      link.disconnect();
      throw refusal ?? error;
    }
    link.stream.unref?.();
    return link;
  },
  send: (link, words) => link.callBuffer(...words),
  drop: (link) => link.disconnect(),
};

/** The client of one server inside a node-redis client, for its options. */
async function nodeOf(client) {
  if (client.nodeClient) return client.nodeClient(client.masters[0]);
  // Sentinel: the primary's client, looked up again if its connection has ended.
  if (client.getMasterNode) return client._execute(false, async (node) => node);
  return client;
}

/** Operations on a client of node-redis. */
const NODE_REDIS = {
  prefix: (client) => client._keyPrefix ?? client.options?.keyPrefix ?? '',
  seeds: async (cluster) => cluster.masters.map(({ host, port }) => [host, port]),
  mapped(cluster, host, port) {
    const map = cluster._options?.nodeAddressMap;
    const at = typeof map === 'function' ? map(`${host}:${port}`) : map?.[`${host}:${port}`];
    return at ? [at.host, at.port] : [host, port];
  },
  async connect(client, address) {
    const model = await nodeOf(client);
    const socket = { ...model.options?.socket, reconnectStrategy: false };
    if (address) Object.assign(socket, { host: address[0], port: address[1] });
    const link = model.duplicate({ socket, disableOfflineQueue: false, keyPrefix: undefined });
    link.on('error', () => {});
    await link.connect();
    link.unref();
    return link.withTypeMapping({ 36: Buffer });
  },
  send: (link, words) => link.sendCommand(words),
  drop: (link) => link.destroy(),
};

function kindOf(client) {
  if (client?.isCluster && client.nodes && client.duplicate) return IOREDIS;
  if (client?.callBuffer && client.duplicate && client.options) return IOREDIS;
  if (client?.withTypeMapping && (client.nodeClient || client.getMasterNode || client.unref)) {
    return NODE_REDIS;
  }
  throw new TypeError('a client of ioredis or of node-redis 5 or newer is needed');
}

const ALL = new WeakMap();

class Links {
  #client;
  #kind;
  #open = new Map();
  /** Exchanges that now use a connection for commands that block, by its name. */
  #busy = new Map();
  #slots = new Map();
  #seeds = [];
  /** The first seeds, while they are asked for: each question has listeners on the client. */
  #asked;

  static of(client) {
    const kind = kindOf(client);
    if (!ALL.has(client)) ALL.set(client, new Links(client, kind));
    return ALL.get(client);
  }

  constructor(client, kind) {
    this.#client = client;
    this.#kind = kind;
    this.isCluster = Boolean(client.isCluster || client.nodeClient);
    this.prefix = kind.prefix(client);
  }

  /** Returns the replies in order, errors as values. All commands use one connection to the key's
   *  node. `blocks`: commands that may block have a connection to themselves. */
  async send(key, commands, ms, blocks) {
    const end = performance.now() + ms;
    const slot = this.isCluster ? slotOf(key) : 0;
    let address = this.isCluster ? await this.#node(slot, end) : undefined;
    let asking = false;
    for (let redirect = 0; ; redirect++) {
      const replies = await this.#exchange(address, commands, asking, end, blocks);
      const code = codeOf(replies[0]);
      if (code === 'CLUSTERDOWN' || DROPPING.includes(code)) this.#slots.clear();
      asking = code === 'ASK';
      if (!this.isCluster || !['MOVED', 'ASK'].includes(code) || redirect === REDIRECTS) {
        return replies;
      }
      const place = replies[0].message.split(' ').pop();
      const colon = place.lastIndexOf(':');
      address = this.#place(place.slice(0, colon) || address[0], Number(place.slice(colon + 1)));
      if (code === 'MOVED') this.#slots.set(slot, address);
    }
  }

  async #exchange(address, commands, asking, end, blocks = false) {
    if (!blocks) return this.#over(` ${address}`, address, commands, asking, end);
    const name = this.#free(address);
    this.#busy.set(name, (this.#busy.get(name) ?? 0) + 1);
    try {
      return await this.#over(name, address, commands, asking, end);
    } finally {
      const left = this.#busy.get(name) - 1;
      if (left > 0) this.#busy.set(name, left);
      else this.#busy.delete(name);
    }
  }

  /** The name of a connection that is not busy, or of the least busy one. */
  #free(address) {
    let [best, least] = ['', Infinity];
    for (let at = 1; at <= BLOCKING && least > 0; at++) {
      const name = `${at} ${address}`;
      const busy = this.#busy.get(name) ?? 0;
      if (busy < least) [best, least] = [name, busy];
    }
    return best;
  }

  async #over(name, address, commands, asking, end) {
    const link = this.#link(name, address);
    const begun = performance.now();
    try {
      const open = await within(link.connected, end);
      const sent = commands.flatMap((words) => (asking ? [['ASKING'], words] : [words]));
      const told = sent.map((words) => this.#kind.send(open, words));
      const settled = await within(Promise.allSettled(told), end);
      link.answered = performance.now();
      const replies = settled.map(({ reason, value }) => reason ?? value);
      const lost = replies.find((reply) => reply instanceof Error && codeOf(reply) === undefined);
      if (lost) throw lost;
      if (replies.some((reply) => DROPPING.includes(codeOf(reply)) || isFull(reply))) {
        this.#drop(name, link);
      }
      return asking ? replies.filter((_, at) => at % 2) : replies;
    } catch (error) {
      this.#slots.clear();
      // If other calls got replies over this connection, only this call is slow.
      const isConnecting = !link.isOpen && performance.now() - link.begun < CONNECT_MS;
      const isGood = isConnecting || link.answered >= begun;
      if (!(error instanceof OutOfTime) || !isGood) this.#drop(name, link);
      throw error;
    }
  }

  #link(name, address) {
    if (!this.#open.has(name)) {
      const connected = this.#kind.connect(this.#client, address);
      const link = { connected, isOpen: false, begun: performance.now(), answered: 0 };
      connected.then(() => { link.isOpen = true; }, () => this.#drop(name, link));
      this.#open.set(name, link);
    }
    return this.#open.get(name);
  }

  #drop(name, link) {
    if (this.#open.get(name) === link) this.#open.delete(name);
    link.connected.then((open) => this.#kind.drop(open)).catch(() => {});
  }

  /** The node of a slot. If it is unknown, asks one node after the other. */
  async #node(slot, end) {
    if (this.#slots.has(slot)) return this.#slots.get(slot);
    if (this.#seeds.length === 0) {
      this.#asked ??= this.#kind.seeds(this.#client).finally(() => { this.#asked = undefined; });
      this.#seeds = await within(this.#asked, end);
    }
    // A node that is cut off from the others still names the owner of yesterday: not always the same one.
    const seeds = [...this.#seeds.slice(1), ...this.#seeds.slice(0, 1)];
    this.#seeds = seeds;
    let why = new Error('no node of the cluster is known');
    for (const [at, seed] of seeds.entries()) {
      const now = performance.now();
      const part = now + (end - now) / (seeds.length - at);
      try {
        const [ranges] = await this.#exchange(seed, [['CLUSTER', 'SLOTS']], false, part);
        if (ranges instanceof Error) throw ranges;
        for (const [first, last, [host, port]] of ranges) {
          const place = this.#place(String(host ?? '') || seed[0], Number(port));
          for (let one = first; one <= last; one++) this.#slots.set(one, place);
        }
        if (this.#slots.has(slot)) {
          const known = new Map([...this.#seeds, ...this.#slots.values()].map((s) => [String(s), s]));
          this.#seeds = [...known.values()];
          return this.#slots.get(slot);
        }
      } catch (error) {
        why = error;
      }
    }
    throw why;
  }

  #place(host, port) {
    return this.#kind.mapped(this.#client, host, port);
  }
}

class OutOfTime extends Error {}

/** The promise's value, or an error at the deadline; the promise itself continues. */
async function within(promise, end) {
  let timer;
  const over = new Promise((_, reject) => {
    const left = Math.max(end - performance.now(), 0);
    timer = setTimeout(() => reject(new OutOfTime('no time is left')), left);
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}

module.exports = { Links, codeOf, passes, slotOf };
