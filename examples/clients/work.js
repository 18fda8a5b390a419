// The whole work of every user of redis.conf.example, with ioredis:  work.js HOST:PORT KEY WORK
'use strict';

const assert = require('assert');
const fs = require('fs');
const { Redis } = require('ioredis');

// With a name, which the library tells the server when it connects; it asks for INFO, too.
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

// Meanwhile another program pauses and resumes a sale, so there is always something to hear.
function hear(server) {
  return new Promise((heard, failed) => {
    server.on('pmessage', (pattern, channel, message) => heard(message));
    server.psubscribe('__keyevent@*__:seckill.*').catch(failed);
  });
}

async function main() {
  const [address, key, work] = process.argv.slice(2);
  const users = ['shop', 'reader', 'operator', 'monitoring'];
  const servers = Object.fromEntries(users.map((user) => [user, connect(address, user)]));
  for (const line of fs.readFileSync(work, 'ascii').trim().split('\n')) {
    const [user, ...call] = line.replaceAll('KEY', key).split(' ');
    await servers[user].call(...call);
  }

  const stream = `${key}:orders`;
  const entries = await servers.reader.xreadgroup('GROUP', 'db', 'one', 'STREAMS', stream, '>');
  const first = entries[0][1][0][0];
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

  // What docs say of this library: a prefix does not reach raw commands.
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
