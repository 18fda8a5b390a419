// Nobody pays without an order or a refund, and nobody has an order without paying.
'use strict';

const { ask, check, until } = require('./stage.js');

const NOBODY = 888_888_888;

// A buyer who holds a unit and has its bill.
async function holder(stage, item) {
  const buyer = stage.buyer();
  const told = await buyer.grab(item);
  check(told.code === 'GRANTED', `a unit: ${JSON.stringify(told)}`);
  // On a busy machine the page may refuse; then the buyer retries.
  const bill = await until('a bill', () => buyer.bill(item).catch(() => null));
  return { ...buyer, order: told.order, bill };
}

const stateOf = (stage, item, buyer) => stage.redis('SECKILL.USER', `sale:${item}`, String(buyer.id))[2][0]?.[3];

async function isPaid(stage, item, buyer) {
  await until(`buyer ${buyer.id} is PAID`, () => stage.payment(buyer.bill.payment) === 'PAID');
  check(stateOf(stage, item, buyer) === 'SOLD', `their grant is ${stateOf(stage, item, buyer)}`);
}

const isRefunded = (stage, { bill }) => until(`payment ${bill.payment} is REFUNDED`,
  () => stage.payment(bill.payment) === 'REFUNDED' && stage.trade(bill.payment) === 'REFUNDED');

async function billIsNoPayment(stage) {
  stage.newSale('phone', 5, 900);
  const buyer = await holder(stage, 'phone');
  const { status } = await stage.page('callback.php', { fields: buyer.bill });
  check(status === 403, `the bank's word, with the bill's signature: HTTP ${status}`);
  const after = await holder(stage, 'phone');
  await stage.payBill(after.bill);
  await isPaid(stage, 'phone', after);
  check(stateOf(stage, 'phone', buyer) === 'HELD', `not paid, and ${stateOf(stage, 'phone', buyer)}`);
  return `HTTP ${status}, the order stays HELD`;
}

// Sends each message of both sides to each address that expects another.
async function messagesStayWhatTheyAre(stage) {
  stage.newSale('phone', 5, 900);
  const buyer = await holder(stage, 'phone');
  const other = await holder(stage, 'phone');
  await stage.payBill(other.bill);
  await isPaid(stage, 'phone', other);
  const { payment, fen, until: last } = other.bill;
  const messages = {
    bill: other.bill,
    'bill of another': buyer.bill,
    paid: stage.message('paid', { payment, fen }),
    refund: stage.message('refund', { payment, fen }),
    ask: stage.message('ask', { from: payment, to: payment }),
  };
  const places = { 'callback.php': 'paid', 'bank/': 'bill', 'bank/refund': 'refund', 'bank/ask': 'ask' };
  // Missing fields are added, so that only the signature can be wrong.
  const all = { payment, fen, until: last, from: payment, to: payment, pay: '1' };
  let tried = 0;
  for (const [purpose, message] of Object.entries(messages)) {
    for (const [place, expects] of Object.entries(places)) {
      if (purpose.startsWith(expects)) continue;
      for (const method of ['POST', 'GET']) {
        const query = method === 'GET' ? `?${new URLSearchParams({ ...all, ...message })}` : '';
        const fields = method === 'POST' ? { ...all, ...message } : undefined;
        const { status } = await stage.page(place + query, { fields, headers: { 'X-Sign': message.sign } });
        check([400, 403, 405].includes(status), `${method} of a ${purpose} at ${place}: HTTP ${status}`);
        tried += 1;
      }
    }
    const known = messages[purpose];
    for (const name of Object.keys(known).filter((field) => field !== 'sign')) {
      const place = Object.keys(places).find((at) => purpose.startsWith(places[at]));
      const { status } = await stage.page(place, { fields: { ...known, [name]: +known[name] + 1, pay: '1' } });
      check(status === 403, `a ${purpose} with another ${name}: HTTP ${status}`);
      tried += 1;
    }
  }
  check(stage.payment(payment) === 'PAID' && stage.trade(payment) === 'PAID', 'the paid order stays paid');
  check(stage.payment(buyer.bill.payment) === 'BEGUN' && stage.trade(buyer.bill.payment) === '', 'the other stays unpaid');
  return `${tried} messages at places that are not theirs or with another number, all refused`;
}

// Requests every link and form of every page without its token.
async function linksChangeNothing(stage) {
  stage.newSale('phone', 5, 900);
  const buyer = await holder(stage, 'phone');
  // Two buyers: one has grabbed nothing, the other has no bill.
  const [nobody, unbilled] = [stage.buyer(), stage.buyer()];
  await unbilled.grab('phone');
  const seen = new Set();
  const left = ['', '?item=phone', 'orders.php', 'login.php', 'pay.php', 'grab.php', 'state.php?item=phone', 'callback.php',
    'operator.php', 'operator.php?live', 'books.php', 'bank/', 'bank/refund', 'bank/ask', ...Object.keys(buyer.bill).map((f) => `bank/?${f}=1`)];
  const books = () => JSON.stringify([stage.status('phone').rev, stage.sql('SELECT * FROM shop.payments'),
    stage.sql('SELECT * FROM bank.trades'), stage.sql('SELECT * FROM shop.accounts')]);
  const before = books();
  while (left.length > 0) {
    const page = left.pop();
    if (seen.has(page)) continue;
    seen.add(page);
    const crowded = /^[a-z]*\.php/.test(page) || page === '' || page.startsWith('?');
    const { text, status } = crowded ? await buyer.get(page.replace(/^(?=\?|$)/, 'index.php')) : await stage.page(page);
    check(status < 500, `${page}: HTTP ${status}`);
    for (const [, url] of text.matchAll(/(?:href|action)="\/?([^"]*)"/g)) {
      if (!url.endsWith('.css')) left.push(url.replace(/&amp;/g, '&'));
    }
    const [path, query = ''] = page.split('?');
    const fields = { item: 'phone', order: 'f'.repeat(32), work: 'pause', units: 1, ...Object.fromEntries(new URLSearchParams(query)) };
    for (const { id } of crowded ? [buyer, nobody, unbilled] : []) {
      await ask(`${stage.crowd}/${path || 'index.php'}`, { fields, headers: { 'X-Person': String(id) } });
    }
    await stage.page(page, { fields });
  }
  check(books() === before, 'sale, payments, trades and accounts are as they were');
  return `${seen.size} addresses by GET, and by POST without a token: nothing has changed`;
}

async function refundedStaysRefunded(stage) {
  stage.newSale('phone', 5, 900);
  const buyer = await holder(stage, 'phone');
  // The bank refunded the money before the shop knew of the payment.
  stage.sql(`INSERT INTO bank.trades (payment, fen, state) VALUES (${buyer.bill.payment}, ${buyer.bill.fen}, 'REFUNDED')`);
  await stage.payBill(buyer.bill);
  const after = await holder(stage, 'phone');
  await stage.payBill(after.bill);
  await isPaid(stage, 'phone', after);
  check(stateOf(stage, 'phone', buyer) === 'HELD', `its money went back, and the order is ${stateOf(stage, 'phone', buyer)}`);
  await isRefunded(stage, buyer);
  check(stateOf(stage, 'phone', buyer) === 'HELD', `asked of the bank: ${stateOf(stage, 'phone', buyer)}`);
  return 'paid again at the bank, a trade stays REFUNDED and the order HELD';
}

async function nobodysRefund(stage) {
  const { status, text } = await stage.page('bank/refund', { fields: stage.message('refund', { payment: NOBODY, fen: 100 }) });
  check(status === 404, `HTTP ${status} ${text}`);
  return `HTTP ${status}`;
}

async function oldBillInNewSale(stage) {
  stage.newSale('phone', 5, 900);
  const buyer = await holder(stage, 'phone');
  stage.newSale('phone', 5, 900);
  // A page that stayed open sends its order to the new sale.
  check((await buyer.grab('phone', buyer.order)).code === 'GRANTED', 'the same order in the new sale');
  await stage.payBill(buyer.bill);
  await isRefunded(stage, buyer);
  check(stateOf(stage, 'phone', buyer) === 'HELD', `the new order is ${stateOf(stage, 'phone', buyer)}`);
  const bill = await stage.buyer(buyer.id).bill('phone');
  check(bill.payment !== buyer.bill.payment, 'a bill of its own');
  await until('one order on the page of orders', async () => {
    const { text } = await buyer.get('orders.php');
    const states = [...text.matchAll(/<strong>(.*?)<\/strong>/g)].map(([, state]) => state);
    check(states.length <= 2, `orders: ${states}`);
    return states.sort().join() === '已售完，货款已退回,待付款';
  });
  return 'the old bill is refunded, the new order waits for a bill of its own';
}

async function manyLatePayers(stage) {
  stage.newSale('ticket', 40, 8);
  const late = await Promise.all(Array.from({ length: 40 }, () => holder(stage, 'ticket')));
  await until('their holds end', () => stage.status('ticket').available === 40);
  stage.redis('SECKILL.ALTER', 'sale:ticket', 'HOLD', '900000');
  const others = await Promise.all(Array.from({ length: 40 }, () => holder(stage, 'ticket')));
  const begun = performance.now();
  const pay = async ({ bill }) => (await stage.page('bank/', { fields: { ...bill, pay: '1' } })).status;
  const answers = await Promise.all([...late, others[0]].map(pay));
  check(answers.every((status) => status === 303), `HTTP ${answers}`);
  await isPaid(stage, 'ticket', others[0]);
  await Promise.all(late.map((buyer) => isRefunded(stage, buyer)));
  return `40 refunded and another one paid in ${((performance.now() - begun) / 1000).toFixed(1)} s`;
}

// Many requests of one account at once.
async function atOnce(stage) {
  stage.newSale('phone', 50, 900);
  const buyer = stage.buyer();
  const many = (n, make) => Promise.all(Array.from({ length: n }, make));
  const grabs = await many(40, () => buyer.grab('phone'));
  check(grabs.filter(({ code }) => code === 'GRANTED').length === 1 && grabs.every(({ won }) => won), 'one unit');
  const bills = await many(40, () => buyer.bill('phone'));
  check(new Set(bills.map(({ payment }) => payment)).size === 1, 'one bill');
  await many(40, () => stage.payBill(bills[0]));
  await isPaid(stage, 'phone', { ...buyer, bill: bills[0] });
  const { payment, fen } = bills[0];
  const told = await many(30, () => stage.page('callback.php', { fields: stage.message('paid', { payment, fen }) }));
  check(told.every(({ text }) => text === 'success'), '30 callbacks');
  const { sold, held } = stage.status('phone');
  check(sold === 1 && held === 0 && stage.trade(payment) === 'PAID', `${sold} sold, ${held} held`);
  return '40 grabs, 40 bills and 40 payments of one account: one unit, one bill, one trade';
}

async function untoldPayment(stage) {
  stage.newSale('phone', 5, 900);
  const buyer = await holder(stage, 'phone');
  await stage.while('bank', async () => {
    await stage.payBill(buyer.bill);
    await isPaid(stage, 'phone', buyer);
    check(stage.sql(`SELECT told FROM bank.trades WHERE payment = ${buyer.bill.payment}`) === '0', 'the bank told nothing');
  });
  return 'the bank tells nothing: the shop asks, and the order is SOLD';
}

async function lapsedBill(stage) {
  stage.newSale('phone', 5, 900);
  const buyer = await holder(stage, 'phone');
  const { payment, fen } = buyer.bill;
  const old = stage.message('bill', { payment, fen, until: Math.floor(Date.now() / 1000) - 1 });
  const { status } = await stage.page('bank/', { fields: { ...old, pay: '1' } });
  check(status === 410, `a bill that has lapsed: HTTP ${status}`);
  stage.sql(`UPDATE shop.payments SET until = UNIX_TIMESTAMP() - 3601, due_at = NOW() WHERE id = ${payment}`);
  await until('it is LAPSED', () => stage.payment(payment) === 'LAPSED');
  return 'can not be paid, and the shop closes it';
}

// Less money than the bill says, of which the bank tells when it is asked.
async function lessMoney(stage) {
  stage.newSale('phone', 5, 900);
  const wrong = [];
  for (const state of ['PAID', 'REFUNDED']) {
    const buyer = await holder(stage, 'phone');
    const { payment, fen } = buyer.bill;
    stage.sql(`INSERT INTO bank.trades (payment, fen, state, told) VALUES (${payment}, ${fen - 1}, '${state}', 2);
      UPDATE shop.payments SET begun = NOW() - INTERVAL 100 SECOND, due_at = NOW() WHERE id = ${payment}`);
    await until('the shop has asked', () => stage.sql(`SELECT taken OR state <> 'BEGUN' OR due_at > NOW() + INTERVAL 50 SECOND
      FROM shop.payments WHERE id = ${payment}`) === '1');
    const stands = `${stage.sql(`SELECT taken, state FROM shop.payments WHERE id = ${payment}`)} ${stateOf(stage, 'phone', buyer)}`;
    if (stands !== '0\tBEGUN HELD') wrong.push(`${state}: ${stands}`);
  }
  check(wrong.length === 0, wrong.join('; '));
  return 'told of by the bank when it is asked: the order stays HELD';
}

async function statesOf(buyer) {
  return [...(await buyer.get('orders.php')).text.matchAll(/<strong>(.*?)<\/strong>/g)].map(([, state]) => state).join();
}

// An operator takes a paid order back; its money goes back by hand, as docs/shop.md says.
async function returned(stage, { operator }) {
  const sale = stage.newSale('phone', 5, 900);
  const buyer = await holder(stage, 'phone');
  await stage.payBill(buyer.bill);
  await isPaid(stage, 'phone', buyer);
  stage.redis('SECKILL.REFUND', 'sale:phone', String(buyer.id), 'REQ', buyer.order);
  await until('the order is returned', () => stage.orders('phone').REFUNDED === 1);
  check(await statesOf(buyer) === '已退货', `the buyer reads ${await statesOf(buyer)}`);
  const sum = async () => {
    await operator.page.goto(`${stage.url}books.php?sale=${sale}`);
    return operator.page.$eval('#sum', (box) => box.textContent);
  };
  check((await sum()).includes('1 笔不一致'), `the books: ${await sum()}`);
  stage.sql(`UPDATE shop.payments SET state = 'REFUND', due_at = NOW() WHERE account = ${buyer.id} AND req = '${buyer.order}'`);
  await isRefunded(stage, buyer);
  check(await statesOf(buyer) === '已退货，货款已退回', `then they read ${await statesOf(buyer)}`);
  check((await sum()).includes('，0 笔不一致，0 笔处理中'), `the books then: ${await sum()}`);
  return 'it reads 已退货, red in the books until its money is sent back by hand';
}

// The worker has confirmed an order and could not write PAID. Then Redis loses the order.
async function lostAfterConfirm(stage) {
  const [sale, copy] = ['sale:phone', 'copy'];
  const play = async (lose) => {
    stage.newSale('phone', 5, 900);
    stage.redis('EVAL', "return redis.call('SET', KEYS[2], redis.call('DUMP', KEYS[1]))", '2', sale, copy);
    const buyer = await holder(stage, 'phone');
    await until('the order is written', () => stage.orders('phone').HELD === 1);
    const commit = await stage.while('confirm', async () => {
      await stage.payBill(buyer.bill);
      await until('the bank has told', () => stage.sql(`SELECT taken FROM shop.payments WHERE id = ${buyer.bill.payment}`) === '1');
      return lose(buyer);
    });
    await commit?.();
    await until('the worker has judged', () => stage.payment(buyer.bill.payment) !== 'BEGUN');
    check(stateOf(stage, 'phone', buyer) === undefined, `in Redis it is ${stateOf(stage, 'phone', buyer)}`);
    return `${stage.payment(buyer.bill.payment)} ${stage.trade(buyer.bill.payment)}`;
  };
  const restore = () => stage.redis('EVAL', "return redis.call('RESTORE', KEYS[1], 0, redis.call('GET', KEYS[2]), 'REPLACE')", '2', sale, copy);
  const confirm = async ({ id, order }) => {
    stage.redis('SECKILL.CONFIRM', sale, String(id), 'REQ', order);
    await until('it is written as SOLD', () => stage.orders('phone').SOLD === 1);
  };
  const ends = {
    'written, then lost': async (buyer) => { await confirm(buyer); restore(); },
    'written, and another sale is there': async (buyer) => { await confirm(buyer); stage.newSale('phone', 5, 900); },
    // What the order writer has read is in its transaction.
    'being written': async ({ id, order }) => {
      restore();
      const commit = await stage.transaction(`SELECT id FROM shop.sales WHERE id = '${stage.status('phone').id}' FOR UPDATE;
        UPDATE shop.orders SET state = 'SOLD' WHERE user_id = '${id}' AND req = '${order}'`);
      return async () => {
        const waits = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'worker' AND info LIKE '%SHARE MODE%'";
        await until('the worker waits, or has judged', () => stage.sql(waits) === '1'
          || stage.sql("SELECT COUNT(*) FROM shop.payments WHERE taken AND state = 'BEGUN'") === '0');
        await commit();
      };
    },
  };
  const wrong = [];
  for (const [what, lose] of Object.entries(ends)) {
    const came = await play(lose);
    if (came !== 'PAID PAID') wrong.push(`${what}: ${came}`);
  }
  stage.redis('DEL', sale, copy);
  check(wrong.length === 0, wrong.join('; '));
  return `${Object.keys(ends).join('; ')}: the money stays with the order`;
}

// As before, but Redis still knows the hold. It runs out, its unit goes to another buyer, and the worker is refused.
async function refusedAfterConfirm(stage) {
  const [sale, copy] = ['sale:phone', 'copy'];
  stage.newSale('phone', 1, 15);
  const buyer = await holder(stage, 'phone');
  await until('the order is written', () => stage.orders('phone').HELD === 1);
  stage.redis('EVAL', "return redis.call('SET', KEYS[2], redis.call('DUMP', KEYS[1]))", '2', sale, copy);
  const orders = stage.pid('orders');
  try {
    await stage.while('confirm', async () => {
      await stage.payBill(buyer.bill);
      await until('the bank has told', () => stage.sql(`SELECT taken FROM shop.payments WHERE id = ${buyer.bill.payment}`) === '1');
      stage.redis('SECKILL.CONFIRM', sale, String(buyer.id), 'REQ', buyer.order);
      await until('it is written as SOLD', () => stage.orders('phone').SOLD === 1);
      // The order writer is late, as it is after a failover.
      process.kill(orders, 'SIGSTOP');
      stage.redis('EVAL', "return redis.call('RESTORE', KEYS[1], 0, redis.call('GET', KEYS[2]), 'REPLACE')", '2', sale, copy);
      await until('another buyer has the unit', () => stage.redis('SECKILL.GRAB', sale, NOBODY, 'REQ', 'other')[0] === 'GRANTED');
    });
    await isRefunded(stage, buyer);
  } finally {
    // To the writer the restored sale is an old primary.
    stage.redis('DEL', sale, copy);
    stage.redis('XTRIM', 'sale:orders', 'MAXLEN', '0');
    process.kill(orders, 'SIGCONT');
  }
  return 'the money goes back, although the database still has the order as SOLD';
}

async function books(stage, { operator }, shot) {
  const look = async (sale) => {
    await operator.page.goto(`${stage.url}books.php?sale=${sale}`);
    const [, rows, wrong, open] = /(\d+) 笔，(\d+) 笔不一致，(\d+) 笔处理中/.exec(await operator.page.$eval('#sum', (box) => box.textContent));
    const red = await operator.page.$$eval('#books .wrong', (lines) => lines.map((line) => line.textContent));
    check(red.length === +wrong, 'differences are red');
    return { rows: +rows, wrong: +wrong, open: +open, red };
  };
  const sale = stage.status('ticket').id;
  await until('the books agree', async () => {
    const { rows, wrong, open } = await look(sale);
    return rows === 80 && wrong === 0 && open === 0;
  });
  const paid = stage.sql(`SELECT id FROM shop.payments WHERE sale = '${sale}' AND state = 'PAID'`);
  const wrongs = {
    'an order whose money went back': [`UPDATE bank.trades SET state = 'REFUNDED' WHERE payment = ${paid}`,
      `UPDATE bank.trades SET state = 'PAID' WHERE payment = ${paid}`],
    'too little money': [`UPDATE bank.trades SET fen = fen - 1 WHERE payment = ${paid}`,
      `UPDATE bank.trades SET fen = fen + 1 WHERE payment = ${paid}`],
    'an order without its payment': [`UPDATE shop.payments SET state = 'REFUNDED' WHERE id = ${paid}`,
      `UPDATE shop.payments SET state = 'PAID' WHERE id = ${paid}`],
    'a trade that nobody knows': [`INSERT INTO bank.trades (payment, fen, state, told) VALUES (${NOBODY}, 1, 'PAID', 2)`,
      `DELETE FROM bank.trades WHERE payment = ${NOBODY}`],
  };
  for (const [what, [change, back]] of Object.entries(wrongs)) {
    stage.sql(change);
    const { wrong } = await look(sale);
    if (what.includes('went back')) await shot(operator, 'books');
    stage.sql(back);
    check(wrong === 1, `${what}: ${wrong} differ`);
  }
  check((await look(sale)).wrong === 0, 'and agree again');
  return `80 rows agree; red: ${Object.keys(wrongs).join(', ')}`;
}

module.exports = [
  ['a bill is no payment', billIsNoPayment],
  ['a message does for no other', messagesStayWhatTheyAre],
  ['links and forms without a token', linksChangeNothing],
  ['a refunded trade', refundedStaysRefunded],
  ['a refund of a trade that never was', nobodysRefund],
  ['an old bill in a new sale', oldBillInNewSale],
  ['40 pay late at once', manyLatePayers],
  ['40 of everything by one account', atOnce],
  ['a payment that nobody tells of', untoldPayment],
  ['a bill that has lapsed', lapsedBill],
  ['less money than the bill', lessMoney],
  ['an order that an operator returns', returned],
  ['a paid order that Redis loses', lostAfterConfirm],
  ['a payment that Redis loses and then refuses', refusedAfterConfirm],
  ['the books', books],
];
