// Runs all commands of the users of redis.conf.example, with ioredis:  work.js HOST:PORT KEY WORK
// Calls that clients/node supports (BUY in the list) go through clients/node.
'use strict';

const assert = require('assert');
const fs = require('fs');
const { Redis } = require('ioredis');

const { Sale, decode } = require('../../clients/node');

// Connects with a client name. The library sends the name and INFO at connecting.
function connect(address, user, more = {}) {
  const [host, port] = address.split(':');
  return new Redis({
    host,
    port: Number(port),
    username: user,
    password: `change-me-${user}`,
    connectionName: `${user}-app`,
    ...more,
  });
}

// Another program pauses and resumes a sale all the time, so there are always notifications.
function hear(server) {
  return new Promise((heard, failed) => {
    server.on('pmessage', (pattern, channel, message) => heard(message));
    server.psubscribe('__keyevent@*__:seckill.*').catch(failed);
  });
}

async function buy(sale) {
  const held = [await sale.grab('a', { req: 'o-1' }), await sale.grab('b', { req: 'o-2', qty: 2 }),
    await sale.grab('c', { req: 'o-3', upto: 2 }), await sale.extend('a', 900000, { req: 'o-1' })];
  assert.deepEqual(held.map(({ state }) => state), ['HELD', 'HELD', 'HELD', 'HELD']);
  assert.equal((await sale.confirm('a', { req: 'o-1' })).state, 'SOLD');
  assert.equal((await sale.cancel('b', { req: 'o-2' })).state, 'CANCELLED');
  assert.equal((await sale.user('a')).grants[0].req, 'o-1');
  assert.equal((await sale.status()).sold, 1);
}

async function main() {
  const [address, key, work] = process.argv.slice(2);
  const users = ['shop', 'reader', 'operator', 'monitoring'];
  const servers = Object.fromEntries(users.map((user) => [user, connect(address, user)]));
  for (const line of fs.readFileSync(work, 'ascii').trim().split('\n')) {
    const [user, ...call] = line.replaceAll('KEY', key).split(' ');
    if (call[0] === 'BUY') await buy(new Sale(servers[user], call[1]));
    else await servers[user].call(...call);
  }

  const stream = `${key}:orders`;
  const entries = await servers.reader.xreadgroup('GROUP', 'db', 'one', 'STREAMS', stream, '>');
  const [first, fields] = entries[0][1][0];
  assert.equal(decode(fields).event, 'INIT');
  assert.equal(await servers.reader.xack(stream, 'db', first), 1);

  for (const user of ['monitoring', 'operator']) {
    const ear = connect(address, user);
    assert.equal(await hear(ear), 'sale:ticker');
    ear.disconnect();
  }

  const both = servers.shop.multi();
  for (const order of ['first', 'second']) both.call('SECKILL.GRAB', key, 'g', 'REQ', order);
  const replies = await both.exec();
  assert.deepEqual(replies.map(([error, reply]) => error ?? reply[0]), ['GRANTED', 'GRANTED']);

  // See docs/clients.md: this library adds no prefix to raw commands.
  const prefixed = connect(address, 'shop', { keyPrefix: 'other:' });
  assert.equal((await prefixed.call('SECKILL.GRAB', key, 'g', 'REQ', 'first'))[0], 'REPLAY');
  prefixed.disconnect();

  await servers.operator.bgrewriteaof();
  assert.equal(await servers.operator.del(key), 1);
  console.log('OK');
  users.forEach((user) => servers[user].disconnect());
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
