// Does for `make clients` what it is told, a JSON object a line, and tells what came of it.
'use strict';

const { createInterface } = require('node:readline');

const { Sale, SaleError, Unanswered, decode, home } = require('..');

async function connect({ flavour, port, resp, prefix }) {
  if (flavour === 'ioredis') {
    const { Redis } = require('ioredis');
    const client = new Redis({ port, protocol: resp, keyPrefix: prefix });
    return client.on('error', () => {});
  }
  const { createClient } = require('redis');
  const client = createClient({ socket: { port }, RESP: resp, keyPrefix: prefix });
  return client.on('error', () => {}).connect();
}

/** Ids that are not UTF-8 travel in hexadecimal. */
function plain(name, value) {
  return value?.type === 'Buffer' ? { hex: Buffer.from(value.data).toString('hex') } : value;
}

// Ids may be any bytes, so entries are read as Buffers.
async function outbox(client, key) {
  if (client.xRange) {
    const entries = await client.withTypeMapping({ 36: Buffer }).xRange(key, '-', '+');
    return { events: entries.map(({ message }) => decode(message)) };
  }
  return { events: (await client.xrangeBuffer(key, '-', '+')).map(([, fields]) => decode(fields)) };
}

async function run(client, { call, key, user, ms, parts, durable, ...options }) {
  if (call === 'outbox') return outbox(client, key);
  if (durable) durable.timeoutMs = durable.timeout_ms;
  const who = user?.hex ? Buffer.from(user.hex, 'hex') : user;
  if (call === 'home') return home(key, parts, who);
  const sale = new Sale(client, parts ? home(key, parts, who).key : key, { durable });
  if (call === 'status') return sale.status();
  if (call === 'user') return sale.user(who);
  if (call === 'extend') return sale.extend(who, ms, options);
  if (call === 'winners') {
    const rows = [];
    for await (const row of sale.winners(options)) rows.push(row);
    return { count: rows.length, first: rows[0], last: rows.at(-1) };
  }
  const answer = await sale[call](who, options);
  return { ...answer, opens_in: answer.opensIn };
}

async function main() {
  const client = await connect(JSON.parse(process.argv[2]));
  for await (const line of createInterface({ input: process.stdin })) {
    const answer = await run(client, JSON.parse(line)).catch((error) => {
      if (error instanceof SaleError) return { error: 'SaleError', code: error.code };
      if (error instanceof Unanswered) return { error: 'Unanswered', req: error.req };
      throw error;
    });
    console.log(JSON.stringify(answer, plain));
  }
  process.exit();
}

main();
