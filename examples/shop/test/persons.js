// People with a browser: one double-clicks, one comes late, one does not pay, one pays late.
'use strict';

const { Person } = require('./person.js');
const { ask, check, until } = require('./stage.js');

const HOLD_S = 15;
const FEN = 199900;
// Largest error of the countdown: whole seconds are shown, and the request's travel time is unknown.
const CLOCK_MS = 2000;

module.exports = async function persons(stage, told, shot, { operate }) {
  const people = {};
  for (const name of ['安安', 'Ben', '卡尔', 'fay', 'dan']) people[name] = await Person.comes(stage, name);
  const { 安安: ann, Ben: ben, 卡尔: carl, fay, dan } = people;
  await operate('open', { item: 'coupon', units: 1, opens: 1800, hold: HOLD_S });
  await ann.visit('coupon');
  const [from, clock, to] = [left(stage), await ann.reads('#clock', '距离开始'), left(stage)];
  const shown = 1000 * (60 * clock.slice(-5, -3) + +clock.slice(-2));
  check(shown > to - CLOCK_MS && shown < from + CLOCK_MS, `${clock}, while ${from} to ${to} ms are left`);
  check((await ann.grab())[0].code === 'NOTOPEN', 'before the opening');
  await ann.reads('#answer', '还没开始');
  await shot(ann, 'countdown');
  told(`a person whose watch is an hour fast reads "${clock}" and hears 还没开始`);

  await operate('open', { item: 'phone', units: 2, opens: 5, hold: HOLD_S });
  await ann.visit('phone');
  await ann.reads('#clock', '正在抢购');
  const twice = await ann.grab(2);
  check(twice.map((answer) => answer.code).sort().join() === 'GRANTED,REPLAY', `double click: ${JSON.stringify(twice)}`);
  check(twice.every((answer) => answer.seq === 1 && answer.say.includes('恭喜')), 'both clicks hear 恭喜');
  check(stage.status('phone').held === 1, 'a double click holds one unit');
  await shot(ann, 'won');
  told('a double click: GRANTED, REPLAY, twice 恭喜, one unit');

  await ann.toBank();
  const { payment, fen } = await ann.bill();
  await ann.pay();
  await ann.ordersSay('已付款');
  await callbacks(stage, { payment, fen });
  told('who pays is SOLD; ten more callbacks change nothing, a forged one is refused');

  await ben.visit('phone');
  await ben.grab();
  await ben.toBank();
  await carl.visit('phone');
  check((await carl.grab())[0].code === 'SOLDOUT', 'who comes late');
  await carl.reads('#answer', '已抢光，还有 1 件待付款');
  told('who comes late hears 已抢光，还有 1 件待付款');

  await until('the hold of who does not pay ends', () => stage.status('phone').available === 1);
  check(stage.status('phone').counters.expired === 1, 'one expired');
  await ben.pay();
  await ben.ordersSay('已付款');
  check(stage.status('phone').sold === 2 && stage.status('phone').counters.reclaimed === 1, 'reclaimed');
  told('who pays late while a unit is free gets it');

  await operate('restock', { item: 'phone', units: 1 });
  check(stage.status('phone').supply === 3, 'one more');
  await fay.visit('phone');
  await unanswered(stage, fay);
  told('whose answer is lost hears 活动火爆，请再点一次; another click: 恭喜, one unit');
  await fay.ordersSay('待付款');
  await fay.ordersSay('超时未付款');
  told('who does not pay: 超时未付款, and the unit is back');

  await dan.visit('phone');
  check((await dan.grab())[0].code === 'GRANTED', 'the unit that came back');
  await dan.toBank();
  await until("dan's hold ends", () => stage.status('phone').available === 1);
  check((await carl.grab())[0].code === 'GRANTED', 'the same order that was refused before');
  await carl.toBank();
  await carl.pay();
  await dan.pay();
  await dan.ordersSay('已售完，货款已退回');
  await shot(dan, 'refunded');
  await carl.ordersSay('已付款');
  told('who pays late when another has the unit gets the money back');

  await dan.visit('phone');
  check((await dan.grab())[0].say === '已抢光', 'sold out for good');
  await operate('pause', { item: 'phone' });
  check((await dan.grab())[0].code === 'PAUSED', 'paused');
  await dan.reads('#answer', '活动火爆');
  await strangers(stage, ann);
  books(stage);
  told('books: 3 sold, 2 expired, money for 3, AUDIT finds no difference');
};

// Redis stops answering and comes back: the outcome of the first click is unknown.
async function unanswered(stage, fay) {
  await stage.while('redis', () => fay.grab(1, 503));
  await fay.reads('#answer', '活动火爆，请再点一次');
  const { code } = (await fay.grab())[0];
  check(['GRANTED', 'REPLAY'].includes(code), `the second click: ${code}`);
  await fay.reads('#answer', '恭喜');
  const { held, counters } = stage.status('phone');
  check(held === 1 && counters.already === 0, `${held} held`);
}

function left(stage) {
  const { now, open_at: opens } = stage.status('coupon');
  return opens - now;
}

async function callbacks(stage, paid) {
  const tell = (fields) => ask(`${stage.url}callback.php`, { fields });
  const { rev } = stage.status('phone');
  const again = await Promise.all(Array.from({ length: 10 }, () => tell(stage.message('paid', paid))));
  check(again.every(({ text }) => text === 'success'), 'a callback that repeats');
  check(stage.status('phone').rev === rev, 'callbacks that repeat change nothing');
  check((await tell({ ...stage.message('paid', paid), fen: paid.fen - 1 })).status === 403, 'a forged callback');
  check((await tell(stage.message('paid', { ...paid, fen: 1 }))).status === 400, 'a callback of too little money');
}

// Requests without session, without token, or with the wrong method.
async function strangers(stage, ann) {
  const cookie = `PHPSESSID=${await ann.session()}`;
  const form = { fields: { item: 'phone', order: 'a'.repeat(32) } };
  const attempts = stage.status('phone').counters.attempts;
  const status = async (page, options) => (await stage.page(page, options)).status;
  check(await status('grab.php', form) === 401, 'without a session');
  check(await status('grab.php', { ...form, headers: { cookie } }) === 403, 'without the token of a page');
  check(await status('pay.php', { ...form, headers: { cookie } }) === 403, 'paying without the token');
  check(await status('grab.php', { headers: { cookie } }) === 405, 'by GET');
  check(await status('operator.php', { headers: { cookie } }) === 403, 'the operator’s page');
  check(await status('lib/shop.php') === 404 && await status('../lib/shop.php') === 404, 'files that are no pages');
  check(stage.status('phone').counters.attempts === attempts, 'none of them reached the sale');
}

function books(stage) {
  const { supply, available, held, sold } = stage.status('phone');
  check([supply, available, held, sold].join() === '3,0,0,3', `STATUS: ${[supply, available, held, sold]}`);
  stage.audit('phone');
  const orders = JSON.stringify(stage.orders('phone'));
  check(orders === '{"EXPIRED":2,"SOLD":3}', `orders: ${orders}`);
  const money = stage.sql(`SELECT t.state, COUNT(*), SUM(t.fen) FROM bank.trades t JOIN shop.payments p ON p.id = t.payment
    WHERE p.sale = '${stage.status('phone').id}' GROUP BY t.state ORDER BY t.state`);
  check(money === `PAID\t3\t${3 * FEN}\nREFUNDED\t1\t${FEN}`, `money: ${money}`);
}
