// Buys one unit with node-redis and clients/node:  buy.js URL KEY USER ORDER
'use strict';

const { createClient } = require('redis');

const { Sale, SaleError, Unanswered } = require('../../clients/node');

async function main() {
  const [url, key, user, order] = process.argv.slice(2);
  const client = createClient({ url });
  client.on('error', () => {}); // The call below reports the error.
  client.connect().catch(() => {}); // Not awaited: without a server it would retry forever.
  try {
    const answer = await new Sale(client, key).grab(user, { req: order });
    const { won, outcome, qty, seq, state } = answer;
    console.log(won ? `${outcome} ${qty} unit, number ${seq}` : `no unit: ${state ?? outcome}`);
  } catch (error) {
    process.exitCode = 1;
    if (error instanceof SaleError) console.error(`mistake: ${error.message}`);
    else if (error instanceof Unanswered) console.error(`unknown, ask again with the order ${error.req}`);
    else throw error;
  } finally {
    client.destroy();
  }
}

main();
