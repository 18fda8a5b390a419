// `ab -c 500 -n 4000` for 100 units, with another account for each request. Then all winners pay.
'use strict';

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { check, until } = require('./stage.js');

const [UNITS, PEOPLE, AT_ONCE, PAYING] = [100, 4000, 500, 4];

module.exports = async function rush(stage, told, shot, { operate, operator }) {
  await operate('open', { item: 'ticket', units: UNITS, opens: 0, hold: 900 });
  const body = path.join(stage.folder, 'body');
  fs.writeFileSync(body, `item=ticket&csrf=of-ab&order=${'0'.repeat(32)}`);
  // -l: the answers differ in length.
  const { stdout } = await promisify(execFile)('ab', ['-q', '-l', '-s', '60', '-c', `${AT_ONCE}`, '-n', `${PEOPLE}`,
    '-p', body, '-T', 'application/x-www-form-urlencoded', `${stage.crowd}/grab.php`]);
  const figure = (name) => +(new RegExp(`${name}: +([0-9.]+)`).exec(stdout)?.[1] ?? 0);
  check(figure('Complete requests') === PEOPLE, `ab: ${stdout}`);
  check(figure('Failed requests') === 0 && figure('Non-2xx responses') === 0, `each answer is HTTP 200: ${stdout}`);
  const { counters, held } = stage.status('ticket');
  const counted = [counters.attempts, counters.granted, counters.soldout, held];
  check(counted.join() === [PEOPLE, UNITS, PEOPLE - UNITS, UNITS].join(), `counted ${counted}`);
  told(`ab -c ${AT_ONCE} -n ${PEOPLE}: ${figure('Requests per second')} pages/s, ${PEOPLE} HTTP 200, `
    + `${counters.granted} GRANTED, ${counters.soldout} SOLDOUT`);

  const winners = stage.redis('SECKILL.WINNERS', 'sale:ticket', '0', 'COUNT', '1000')[1].map((row) => row[1]);
  check(new Set(winners).size === UNITS, 'winners are different people');
  const left = [...winners];
  const pay = async () => {
    for (let person = left.pop(); person !== undefined; person = left.pop()) {
      await stage.payBill(await stage.buyer(person).bill('ticket'));
    }
  };
  await Promise.all(Array.from({ length: PAYING }, pay));
  await until('all are SOLD', () => stage.status('ticket').sold === UNITS);
  const { sold, held: unpaid } = stage.status('ticket');
  await until(`${UNITS} orders in the database`, () => JSON.stringify(stage.orders('ticket')) === `{"SOLD":${UNITS}}`);
  const paid = stage.sql("SELECT COUNT(DISTINCT account), COUNT(*) FROM shop.payments WHERE item = 'ticket' AND state = 'PAID'");
  check(paid === `${UNITS}\t${UNITS}`, `payments: ${paid}`);
  stage.audit('ticket');
  const row = () => operator.page.$$eval('tr[data-item=ticket] td', (cells) => cells.map((cell) => cell.textContent).join(' '));
  await until('the operator sees it', async () => (await row()).endsWith(`已抢光 ${UNITS} 0 0 ${UNITS} ${PEOPLE} ${PEOPLE - UNITS} 0`));
  await shot(operator, 'operator');
  told(`all paid: ${sold} SOLD, ${unpaid} HELD, ${stage.orders('ticket').SOLD} rows in MariaDB`);
};
