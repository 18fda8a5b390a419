// The hall: thirty people want one row, others the best seats together; 2,000 watch.
'use strict';

const http = require('node:http');
const { Person } = require('./person.js');
const { check, until } = require('./stage.js');

const [VISITORS, WATCHERS] = [30, 2000];
// Row 5, and the seat of it that all choose first: see lib/hall.php.
const ROW = Array.from({ length: 10 }, (_, seat) => 41 + seat);
const FIRST = 45;

const rows = (stage) => stage.redis('SECKILL.WINNERS', 'sale:hall', '0', 'COUNT', '1000')[1];
const looks = (person, units) => person.page.$$eval('#hall [data-unit]', (seats, wanted) =>
  seats.filter((seat) => wanted.includes(+seat.dataset.unit)).map((seat) => seat.dataset.look), units);

async function comes(stage, name) {
  const person = await Person.comes(stage, name);
  await person.visit('hall');
  await person.page.waitForSelector('#hall [data-look=free]');
  return person;
}

// Presses the button if this seat can be chosen, and returns the answer.
async function take(person, unit) {
  const heard = person.page.waitForResponse((answer) => answer.url().endsWith('/grab.php')).catch(() => null);
  const isSent = await person.page.evaluate((number) => {
    const seat = document.querySelector(`[data-unit="${number}"]`);
    if (seat.dataset.look !== 'chosen') seat.click();
    const isChosen = seat.dataset.look === 'chosen';
    if (isChosen) document.getElementById('grab').click();
    return isChosen;
  }, unit);
  return isSent ? (await heard).json() : null;
}

// Clicks until this person has a seat of the row, or sees no free one.
async function wantsTheRow(person) {
  let [next, taken] = [FIRST, 0];
  for (;;) {
    const told = await take(person, next);
    if (told?.won) return { person, taken, units: told.units };
    if (told?.code === 'TAKEN') {
      taken += 1;
      check(told.taken === next && told.say.includes(`5排${next - 40}座刚被别人选走`), `TAKEN: ${JSON.stringify(told)}`);
      check((await looks(person, [next]))[0] !== 'free', 'what is taken is shown taken at once');
    }
    const free = (await looks(person, ROW)).map((look, at) => (look === 'free' ? ROW[at] : 0)).filter(Boolean);
    if (free.length === 0) return { person, taken, units: [] };
    next = free[Math.floor(Math.random() * free.length)];
  }
}

async function oneRow(stage, { operate }, shot) {
  await operate('open', { item: 'hall', units: 200, opens: 0, hold: 900 });
  const people = [];
  for (let at = 0; at < VISITORS; at += 1) people.push(await comes(stage, `row${at}`));
  for (const { page } of people) await page.click(`[data-unit="${FIRST}"]`);
  await people[0].page.setViewport({ width: 1400, height: 900 });
  await shot(people[0], 'hall-chosen');
  const came = await Promise.all(people.map(wantsTheRow));
  const won = came.filter(({ units }) => units.length > 0);
  const taken = came.reduce((sum, one) => sum + one.taken, 0);
  const sold = rows(stage).flatMap((row) => row[9].map((unit) => [unit, row[1]])).sort((a, b) => a[0] - b[0]);
  check(sold.map(([unit]) => unit).join() === ROW.join(), `seats: ${JSON.stringify(sold)}`);
  check(new Set(sold.map(([, user]) => user)).size === ROW.length && won.length === ROW.length, `${won.length} have one`);
  const { counters } = stage.status('hall');
  check(taken > 0 && counters.taken === taken && counters.granted === ROW.length, `counted ${JSON.stringify(counters)}`);
  for (const { person, units } of came) {
    await until('all see it', async () => (await looks(person, ROW)).every((look, at) => look === (units.includes(ROW[at]) ? 'mine' : 'held')));
  }
  stage.audit('hall');
  const [winner] = won;
  await winner.person.reads('#answer', '座 · 恭喜');
  await winner.person.toBank();
  await winner.person.pay();
  await winner.person.ordersSay('已付款');
  await winner.person.reads('#orders', `5排${winner.units[0] - 40}座`);
  const loser = came.find(({ units }) => units.length === 0).person;
  await until('who watches sees it sold', async () => (await looks(loser, winner.units))[0] === 'sold');
  for (const { context } of people) await context.close();
  return `${VISITORS} people, ${ROW.length} seats: each sold once, ${taken} times TAKEN`;
}

async function together(stage, { operator }, shot) {
  const person = await comes(stage, '李雷');
  await person.page.select('#count', '4');
  await person.page.click('#together');
  await person.reads('#answer', '1排1座、1排2座、1排3座、1排4座 · 恭喜');
  await until('they are theirs', async () => (await looks(person, [1, 2, 3, 4])).every((look) => look === 'mine'));
  await person.page.setViewport({ width: 1400, height: 900 });
  await shot(person, 'hall');
  await person.page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true, deviceScaleFactor: 1 });
  const wide = () => person.page.evaluate(() => document.documentElement.scrollWidth);
  check(await wide() <= 390, `the map is ${await wide()} px wide`);
  await shot(person, 'hall-phone');
  await person.page.waitForSelector('[data-unit="20"][data-look=free]');
  await person.page.click('[data-unit="20"]');
  await person.reads('#chosen', '2排1座');
  await person.page.click('#grab');
  await person.reads('#answer', '每人最多 4 个座位');
  await person.page.goto(`${stage.url}?item=hall`);
  await until('they are theirs still', async () => (await looks(person, [1, 2, 3, 4])).every((look) => look === 'mine'));
  await person.toBank();
  check((await person.bill()).fen === String(4 * 28000), 'four seats are paid');
  await person.pay();
  await person.ordersSay('已付款');
  await person.reads('#orders', '1排1座、1排2座、1排3座、1排4座');
  check(await wide() <= 390, `the orders are ${await wide()} px wide`);
  const { id } = stage.status('hall');
  const written = stage.rows(`SELECT number, state FROM shop.units WHERE id = '${id}' AND number < 5 ORDER BY number`);
  check(JSON.stringify(written) === '[["1","SOLD"],["2","SOLD"],["3","SOLD"],["4","SOLD"]]', `units: ${written}`);
  await operator.page.goto(`${stage.url}books.php?item=hall`);
  check((await operator.page.$eval('#books', (box) => box.textContent)).includes('1排3座'), 'the books show the seats');
  await operator.page.goto(`${stage.url}operator.php?lang=en`);
  await operator.page.setViewport({ width: 1400, height: 1000 });
  await until('the operator sees the map', async () => (await looks(operator, [1]))[0] === 'sold');
  await shot(operator, 'operator-hall');
  check((await operator.page.$$('#hall button:not(:disabled)')).length === 0, 'and presses nothing there');
  await operator.page.goto(`${stage.url}operator.php?lang=zh`);
  await operator.page.setViewport({ width: 820, height: 450 });
  await person.context.close();
  return 'four seats side by side; a fifth is refused; order, books and map show them';
}

// Without a browser: requests that our pages never send, and a late payment for a seat.
async function seats(stage) {
  const order = 'b'.repeat(32);
  const buyer = stage.buyer();
  stage.newSale('hall', 150, 900, 'NUMBERED', 'LIMIT', 4);
  for (const wanted of [{}, { units: '' }, { units: '0' }, { units: '201' }, { units: '7 7' }, { units: '1 2 3 4 5' }, { units: '-1' },
    { units: 'x' }, { units: '1.5' }, { units: '1  2' }, { together: '5' }, { together: '0' }, { units: '151' }]) {
    const { code } = await buyer.grab('hall', order, wanted);
    check(code === '400', `${JSON.stringify(wanted)}: ${code}`);
  }
  check(stage.status('hall').available === 150, 'none took a seat');
  check((await buyer.grab('hall', order, { units: '30 31' })).units.join() === '30,31', 'two seats');
  check((await buyer.grab('hall', order, { units: '31 30' })).code === 'REPLAY', 'the same two');
  check((await buyer.grab('hall', order, { units: '32' })).code === 'REQMISMATCH', 'the order of other seats');
  check((await stage.buyer().grab('hall', undefined, { units: '29 31' })).taken === 31, 'the first that is taken');
  for (let unit = 1; unit <= 150; unit += 3) if (unit !== 31) stage.redis('SECKILL.GRAB', 'sale:hall', `x${unit}`, 'UNITS', unit);
  const short = await stage.buyer().grab('hall', undefined, { together: '4' });
  check(short.code === 'SHORT' && short.say.includes('最多 2 个'), `four together: ${JSON.stringify(short)}`);

  const { id } = stage.status('hall');
  stage.redis('SECKILL.ALTER', 'sale:hall', 'HOLD', 1500);
  const [late, next] = [stage.buyer(), stage.buyer()];
  check((await late.grab('hall', undefined, { units: '90' })).won, 'a seat');
  const bill = await late.bill('hall');
  await until('the seat comes back', () => stage.redis('SECKILL.UNITS', 'sale:hall', 90, 'COUNT', 1) === '.');
  stage.redis('SECKILL.ALTER', 'sale:hall', 'HOLD', 900_000);
  check((await next.grab('hall', undefined, { units: '90' })).won, 'and is taken by another');
  await stage.payBill(await next.bill('hall'));
  await stage.payBill(bill);
  await until('the money of the first goes back', () => stage.payment(bill.payment) === 'REFUNDED');
  await until('the seat is the second’s', () => stage.sql(`SELECT o.user_id FROM shop.units u JOIN shop.orders o
    ON o.id = u.id AND o.born = u.born AND o.seq = u.seq WHERE u.id = '${id}' AND u.number = 90 AND u.state = 'SOLD'`) === String(next.id));
  stage.audit('hall');
  return '13 requests that no page sends change nothing; a seat paid too late is not sold twice';
}

// Many viewers watch at the same time, from four addresses.
async function watchers(stage) {
  stage.newSale('hall', 200, 900, 'NUMBERED', 'LIMIT', 4);
  const watch = (at) => new Promise((resolve, reject) => {
    const told = { text: '' };
    const headers = { Accept: 'text/event-stream' };
    const request = http.get(`${stage.url}stock/sale:hall?units=1`, { headers, localAddress: `127.0.0.${10 + (at % 5)}`, agent: false }, (answer) => {
      check(answer.statusCode === 200, `a watcher hears HTTP ${answer.statusCode}`);
      answer.setEncoding('utf8').on('data', (data) => { told.text = (told.text + data).slice(-1000); resolve(told); }).on('error', () => {});
    });
    request.on('error', reject);
    told.end = () => request.destroy();
  });
  await until('there is a stream', async () => (await stage.page('stock/sale:hall?units=1')).status === 200);
  const all = [];
  while (all.length < WATCHERS) all.push(...await Promise.all(Array.from({ length: 100 }, (_, at) => watch(at))));
  const calls = () => +/cmdstat_seckill\.units:calls=(\d+)/i.exec(stage.redis('INFO', 'commandstats'))[1];
  const [before, begun] = [calls(), performance.now()];
  let slowest = 0;
  for (let unit = 1; unit <= 10; unit += 1) {
    check((await stage.buyer().grab('hall', undefined, { units: String(unit) })).won, `seat ${unit}`);
    slowest = Math.max(slowest, (await stage.page('state.php?item=phone')).ms);
  }
  const map = `"units":"${'h'.repeat(10)}${'.'.repeat(190)}"`;
  await until('all have seen it', () => all.every(({ text }) => text.includes(map)));
  const [asked, seconds] = [calls() - before, (performance.now() - begun) / 1000];
  for (const one of all) one.end();
  check(asked <= seconds + 2, `UNITS was asked ${asked} times in ${seconds} s`);
  check(slowest < 1000, `a page took ${slowest} ms beside them`);
  const elsewhere = await Promise.all(['stock/sale:phone', 'stock/', 'metrics', 'stock/sale:hall/../../metrics'].map((page) => stage.page(page)));
  check(elsewhere.every(({ status }) => status === 404), 'nothing else of the exporter is for visitors');
  return `${WATCHERS} streams: ${asked} calls of UNITS in ${seconds.toFixed(1)} s, other pages within ${slowest.toFixed(0)} ms`;
}

module.exports = [['one row', oneRow], ['together', together], ['seats', seats], ['watchers', watchers]];
