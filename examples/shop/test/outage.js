// A sale of 1,000 units. 40 buyers pay late, half of them after it is sold out. Redis is frozen for 60 s in the
// middle, and MariaDB for 30 s of that time.
// At the end bank, payments, orders and WINNERS are compared row by row.
'use strict';

const crypto = require('node:crypto');
const { check, until } = require('./stage.js');

const [UNITS, LATE, BUYERS, AT_ONCE] = [1000, 40, 1100, 40];
const [REDIS_MS, DATABASE_MS] = [60_000, 30_000];
const PATIENCE_MS = 180_000;

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// Repeats a step with its order until there is an answer, as people do.
async function insist(what, attempt) {
  return until(what, async () => {
    try {
      return await attempt();
    } catch {
      await pause(500);
      return null;
    }
  }, PATIENCE_MS);
}

// Grabs and gets the bill; null if the sale is sold out.
async function win(stage) {
  const buyer = stage.buyer();
  const order = crypto.randomBytes(16).toString('hex');
  const told = await insist('an answer', async () => {
    const answer = await buyer.grab('ticket', order);
    if (answer.code === 'SOLDOUT' || answer.won) return answer;
    check(['503', 'BUSY'].includes(answer.code), `the button: ${JSON.stringify(answer)}`);
    return null;
  });
  if (!told.won) return null;
  const bill = await insist('a bill', () => buyer.bill('ticket'));
  return { ...buyer, order, bill };
}

const pay = (stage, { bill }) => insist('the bank takes the money', async () => {
  await stage.payBill(bill);
  return true;
});

// Buys for all people; returns the number of payments.
async function buy(stage, paid) {
  let left = BUYERS;
  const one = async () => {
    while (left > 0) {
      left -= 1;
      const buyer = await win(stage);
      if (buyer === null) continue;
      await pay(stage, buyer);
      paid.push(buyer);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

async function standStill(stage, late, paid) {
  await until('some have paid', () => paid.length >= UNITS / 4, PATIENCE_MS);
  const before = paid.length;
  const database = stage.pid('database');
  await stage.while('redis', async () => {
    const begun = performance.now();
    await Promise.all(late.map((buyer) => pay(stage, buyer)));
    await pause(REDIS_MS / 4);
    process.kill(database, 'SIGSTOP');
    await pause(DATABASE_MS);
    process.kill(database, 'SIGCONT');
    await pause(Math.max(0, REDIS_MS - (performance.now() - begun)));
  });
  return [before, paid.length];
}

// The sale, orders, payments and trades, each by user and order.
function read(stage, sale) {
  const by = (rows) => new Map(rows.map(([user, order, ...row]) => [`${user} ${order}`, row]));
  const winners = [];
  for (let cursor = 0; ;) {
    const [next, rows] = stage.redis('SECKILL.WINNERS', 'sale:ticket', String(cursor), 'COUNT', '1000', 'STATE', 'ALL');
    winners.push(...rows.map(([, user, , state, , , req]) => [user, req, state]));
    if (next === 0) break;
    cursor = next;
  }
  return {
    winners: by(winners),
    orders: by(stage.rows(`SELECT user_id, req, state FROM shop.orders WHERE id = '${sale}' AND NOT lost`)),
    payments: by(stage.rows(`SELECT account, req, state, id, fen FROM shop.payments WHERE sale = '${sale}'`)),
    bank: new Map(stage.rows(`SELECT payment, state, fen FROM bank.trades
      WHERE payment >= (SELECT MIN(id) FROM shop.payments WHERE sale = '${sale}')`).map(([id, ...row]) => [id, row])),
  };
}

// Rows that differ between the sale, the orders, the payments and the bank.
function differences({ winners, orders, payments, bank }) {
  const wrong = [];
  for (const key of new Set([...winners.keys(), ...orders.keys(), ...payments.keys()])) {
    const [winner, order] = [winners.get(key)?.[0], orders.get(key)?.[0]];
    const [payment, id, fen] = payments.get(key) ?? [];
    const [trade, taken] = bank.get(id) ?? [];
    const agree = winner === order && (winner === 'SOLD') === (payment === 'PAID') && (trade === undefined || taken === fen)
      && { PAID: 'PAID', REFUNDED: 'REFUNDED' }[payment] === trade && [undefined, 'BEGUN', 'PAID', 'REFUNDED'].includes(payment);
    if (!agree) wrong.push(`${key}: WINNERS ${winner}, order ${order}, payment ${payment}, bank ${trade}`);
  }
  const known = new Set([...payments.values()].map(([, id]) => id));
  for (const id of bank.keys()) if (!known.has(id)) wrong.push(`trade ${id} is nobody's`);
  return wrong;
}

module.exports = async function outage(stage, told, shot, { operator }) {
  const sale = stage.newSale('ticket', UNITS, 3);
  const late = await Promise.all(Array.from({ length: LATE }, () => win(stage)));
  await until('their holds end', () => stage.status('ticket').available === UNITS);
  stage.redis('SECKILL.ALTER', 'sale:ticket', 'HOLD', '900000');

  const paid = [];
  const [[before, after]] = await Promise.all([standStill(stage, late.slice(0, LATE / 2), paid), buy(stage, paid)]);
  await Promise.all(late.slice(LATE / 2).map((buyer) => pay(stage, buyer)));
  told(`Redis stood still for ${REDIS_MS / 1000} s, MariaDB for ${DATABASE_MS / 1000} s: ${before} had paid before, ${after} at its end`);
  let wrong;
  await until(() => `the books agree, not: ${wrong.slice(0, 5).join('; ')}`, () => {
    wrong = differences(read(stage, sale));
    return wrong.length === 0;
  }, PATIENCE_MS);

  const books = read(stage, sale);
  const count = (book, state) => [...book.values()].filter((row) => row[0] === state).length;
  const [sold, back] = [count(books.payments, 'PAID'), count(books.payments, 'REFUNDED')];
  for (const { id, order, bill } of [...late, ...paid]) {
    const [state] = books.payments.get(`${id} ${order}`);
    check(['PAID', 'REFUNDED'].includes(state), `who has paid bill ${bill.payment} has ${state}`);
  }
  check(paid.length + LATE === sold + back && books.bank.size === sold + back, `${paid.length} + ${LATE} paid, ${sold} PAID, ${back} REFUNDED`);
  check(sold === UNITS && back === LATE / 2 && stage.status('ticket').sold === UNITS, `${sold} SOLD, ${back} REFUNDED`);
  stage.audit('ticket');
  await operator.page.goto(`${stage.url}books.php?sale=${sale}`);
  const sum = await operator.page.$eval('#sum', (box) => box.textContent);
  check(sum.includes('，0 笔不一致，0 笔处理中'), `the operator reads ${sum}`);
  told(`${books.winners.size} rows agree in WINNERS, orders, payments and bank: ${sold} SOLD and PAID, ${back} REFUNDED, `
    + `${count(books.winners, 'SOLD')} of ${UNITS} units; the operator reads ${sum}`);
};
