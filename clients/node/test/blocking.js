// What the table of cases can't ask, as its drivers make one call at a time: many durable calls at once, over
// a server whose WAIT takes as long as its argument says, as it does without a replica. And a wrong password, and
// a Sentinel that hangs.
'use strict';

const assert = require('node:assert/strict');
const { createServer } = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');

const { Sale, SaleError } = require('..');

const BUYERS = 60;
const WAIT_MS = 400;

/** Words of the whole commands in the bytes, and the rest. */
function parse(bytes) {
  const commands = [];
  for (let at = 0; ;) {
    const words = [];
    const line = () => {
      const end = bytes.indexOf('\r\n', at);
      if (end < 0) return undefined;
      const number = Number(bytes.subarray(at + 1, end));
      at = end + 2;
      return number;
    };
    const begun = at;
    for (let left = line() ?? 0; left > 0; left--) {
      const length = line();
      if (length === undefined || bytes.length < at + length + 2) break;
      words.push(bytes.subarray(at, at + length).toString());
      at += length + 2;
      if (left === 1) commands.push(words);
    }
    if (commands.at(-1) !== words) return [commands, bytes.subarray(begun)];
  }
}

const REPLIES = {
  'SECKILL.GRAB': '*6\r\n$7\r\nGRANTED\r\n:1\r\n:1\r\n$4\r\nSOLD\r\n:0\r\n:9\r\n',
  INCR: ':1\r\n',
  WAIT: ':0\r\n',
  AUTH: '-WRONGPASS invalid username-password pair or user is disabled.\r\n',
  PING: '+PONG\r\n',
  INFO: '$9\r\nloading:0\r\n',
  XREADGROUP: '*-1\r\n',
  XAUTOCLAIM: '*2\r\n$3\r\n0-0\r\n*0\r\n',
};

/** A server that, as Redis, answers the commands of one connection one after the other. */
async function serve() {
  const server = createServer((socket) => {
    let rest = Buffer.alloc(0);
    let last = Promise.resolve();
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const [commands, more] = parse(Buffer.concat([rest, bytes]));
      rest = more;
      for (const words of commands) {
        const name = words[0].toUpperCase();
        const block = words.findIndex((word) => word === 'BLOCK');
        const ms = name === 'WAIT' ? Number(words[2]) : block < 0 ? 0 : Number(words[block + 1]);
        const port = String(server.address().port);
        const primary = `*2\r\n$9\r\n127.0.0.1\r\n$${port.length}\r\n${port}\r\n`;
        const reply = name === 'SENTINEL' ? primary : REPLIES[name] ?? '+OK\r\n';
        last = last.then(() => ms && sleep(ms)).then(() => socket.write(reply));
      }
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const CLIENTS = {
  ioredis: (port) => new (require('ioredis').Redis)({ port }),
  'node-redis': (port) => require('redis').createClient({ socket: { port } }).on('error', () => {}).connect(),
};

async function check(name, server) {
  const client = await CLIENTS[name](server.address().port);
  const durable = { mark: 'mark', replicas: 1, timeoutMs: WAIT_MS };
  // A listener's rejection is nobody's: it must not end the program.
  const onAttempt = async () => { throw new Error('a listener that fails'); };
  const sale = new Sale(client, 'sale', { durable, timeoutMs: 2000, onAttempt });
  const worker = sale.orders('orders', 'g', 'w', { blockMs: 60_000 });
  worker.next().catch(() => {});
  const begun = performance.now();
  const each = Array.from({ length: BUYERS }, (_, at) => sale.grab(`user-${at}`, { req: `o-${at}` }));
  const answers = await Promise.allSettled(each);
  const told = answers.filter(({ value }) => value?.durable === false);
  assert.equal(told.length, BUYERS, `${name}: ${told.length} of ${BUYERS} were told whether it is durable`);
  assert.ok(performance.now() - begun < 2000 + WAIT_MS, `${name}: one WAIT after the other`);
}

const REFUSED = {
  ioredis: (port) => new (require('ioredis').Redis)({ port, password: 'wrong', protocol: 2, lazyConnect: true }),
  'node-redis': (port) => require('redis').createClient({ socket: { port }, password: 'wrong', RESP: 2 }),
};

async function refused(name, server) {
  const sale = new Sale(REFUSED[name](server.address().port), 'sale');
  await assert.rejects(sale.grab('alice', { req: 'o-1' }),
    (error) => error instanceof SaleError && error.code === 'WRONGPASS', name);
}

/** Its first Sentinel takes connections, and answers nothing. */
async function passed(server) {
  const deaf = createServer((socket) => socket.on('error', () => {}));
  await new Promise((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  const sentinels = [deaf, server].map((each) => ({ host: '127.0.0.1', port: each.address().port }));
  const client = new (require('ioredis').Redis)({ sentinels, name: 'mymaster', lazyConnect: true });
  const answer = await new Sale(client, 'sale').grab('alice', { req: 'o-1' });
  assert.ok(answer.won, 'a Sentinel that hangs is not passed');
}

async function main() {
  const server = await serve();
  await passed(server);
  for (const name of Object.keys(CLIENTS)) {
    await check(name, server);
    await refused(name, server);
  }
  process.exit();
}

main();
