// Buys one unit with node-redis:  buy.js URL KEY USER ORDER
'use strict';

const { createClient, ErrorReply } = require('redis');

// Asks for one unit. The order id makes it safe to ask again: it never takes two.
async function grab(server, key, user, order) {
  const command = ['SECKILL.GRAB', key, user, 'REQ', order];
  const [outcome, seq, qty, state] = await server.sendCommand(command);
  if (['GRANTED', 'REPLAY', 'ALREADY'].includes(outcome)) {
    const won = ['SOLD', 'HELD'].includes(state);
    return won ? `${outcome} ${qty} unit, number ${seq}` : `${outcome} but ${state}`;
  }
  return `no unit: ${outcome}`;
}

async function main() {
  const [url, key, user, order] = process.argv.slice(2);
  const server = createClient({ url, socket: { reconnectStrategy: false } });
  server.on('error', () => {}); // Shown below, where the command fails.
  try {
    await server.connect();
    console.log(await grab(server, key, user, order));
    await server.close();
  } catch (error) {
    const prefix = error instanceof ErrorReply ? 'mistake: ' : 'unknown, ask again with the same order id: ';
    console.error(prefix + error.message);
    process.exitCode = 1;
    server.destroy();
  }
}

main();
