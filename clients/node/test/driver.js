// Executes for `make clients` one call for each JSON line on stdin, and prints the result as a JSON line: see
// clients/cases.md.
'use strict';

const { createInterface } = require('node:readline');

const { Sale, SaleError, Unanswered, answer, decode, home } = require('..');

async function connect({ flavour, port, resp, prefix, on }) {
  if (flavour === 'ioredis') {
    const { Cluster, Redis } = require('ioredis');
    const options = { protocol: resp };
    const sentinel = { sentinels: [{ host: '127.0.0.1', port }], name: 'mymaster' };
    const client = on === 'cluster'
      ? new Cluster([{ host: '127.0.0.1', port }], { keyPrefix: prefix, redisOptions: options })
      : new Redis({ ...(on === 'sentinel' ? sentinel : { port }), keyPrefix: prefix, ...options });
    return client.on('error', () => {});
  }
  const { createClient, createCluster, createSentinel } = require('redis');
  const same = { RESP: resp, keyPrefix: prefix };
  const make = {
    single: () => createClient({ socket: { port }, ...same }),
    sentinel: () => createSentinel({ name: 'mymaster', sentinelRootNodes: [{ host: '127.0.0.1', port }], ...same }),
    cluster: () => createCluster({ rootNodes: [{ socket: { host: '127.0.0.1', port } }], ...same }),
  };
  const client = make[on]();
  return client.on('error', () => {}).connect();
}

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A value for the runner: ids that are not UTF-8 in hexadecimal, names as in clients/README.md. */
function plain(value) {
  if (Buffer.isBuffer(value)) return { hex: value.toString('hex') };
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) =>
    [name === 'data' ? name : snake(name), name === 'data' ? field : plain(field)]));
}

const raw = (value) => (value?.hex ? Buffer.from(value.hex, 'hex') : value);

// Ids may be any bytes, so entries are read as Buffers.
async function outbox(client, key) {
  if (client.xRange) {
    const entries = await client.withTypeMapping({ 36: Buffer }).xRange(key, '-', '+');
    return { events: entries.map(({ message }) => decode(message)) };
  }
  return { events: (await client.xrangeBuffer(key, '-', '+')).map(([, fields]) => decode(fields)) };
}

async function orders(sale, { key, group, name, idle_ms: idleMs, ack }) {
  const events = [];
  for await (const order of sale.orders(key, group, name, { idleMs, follow: false })) {
    events.push(order.event);
    if (ack) await order.ack();
  }
  return { events };
}

async function run(client, order, onAttempt) {
  const { call, key, ms, parts, others, until_ms: untilMs, durable } = order;
  if (call === 'answer') return answer(order.reply);
  if (call === 'outbox') return outbox(client, key);
  const [user, req] = [raw(order.user), raw(order.req)];
  if (call === 'home') return home(key, parts, user);
  const options = { onAttempt, timeoutMs: order.timeout_ms, attempts: order.attempts };
  if (durable) options.durable = { ...durable, timeoutMs: durable.timeout_ms };
  const sale = new Sale(order.client === 'none' ? {} : client, parts ? home(key, parts, user).key : key, options);
  if (call === 'orders') return orders(sale, order);
  if (call === 'status') return { outcome: undefined, ...(await sale.status()) };
  if (call === 'user') return sale.user(user);
  if (call === 'place') return (await sale.place(user)) ?? {};
  if (call === 'units') return { units: await sale.units(order) };
  if (call === 'unit') return (await sale.unit(order.unit)) ?? {};
  if (call === 'extend') return sale.extend(user, ms, { req });
  if (call === 'mgrab') return sale.mgrab(user, others, { ...order, req });
  if (call === 'winners') {
    const rows = [];
    for await (const row of sale.winners({ state: order.state, after: order.after })) rows.push(row);
    return { count: rows.length, first: rows[0], last: rows.at(-1) };
  }
  return sale[call](user, { ...order, req, untilMs });
}

async function main() {
  const client = await connect(JSON.parse(process.argv[2]));
  for await (const line of createInterface({ input: process.stdin })) {
    const attempts = [];
    const told = await run(client, JSON.parse(line), (...said) => attempts.push(said.slice(0, 3))).catch((error) => {
      if (error instanceof SaleError) return { error: 'SaleError', code: error.code };
      if (error instanceof Unanswered) return { error: 'Unanswered', req: error.req, lost: error.lost };
      if (error instanceof TypeError) return { error: 'TypeError' };
      throw error;
    });
    console.log(JSON.stringify({ ...plain(told), attempts }));
  }
  process.exit();
}

main();
