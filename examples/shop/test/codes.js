// Codes by number: a buyer sees a code only after paying, and never another buyer's.
'use strict';

const crypto = require('node:crypto');
const { Person } = require('./person.js');
const { check, until } = require('./stage.js');

const CODES = ['VIP-AAAA-1111', 'VIP-BBBB-2222', 'VIP-CCCC-3333'];

async function codes(stage, { operate }, shot) {
  await operate('codes', { codes: CODES.slice(0, 2).join('\n') }, '入库 2 个码，还有 2 个可卖');
  await operate('codes', { codes: CODES.join(' ') }, '入库 1 个码，还有 3 个可卖');
  await operate('codes', { codes: 'a\u00e9b' }, '码只能是');
  await operate('open', { item: 'code', units: 4 }, '请填 1 到 3');
  await operate('open', { item: 'code', units: 2, opens: 0, hold: 900 });
  const [sun, moon] = [await Person.comes(stage, 'sun'), await Person.comes(stage, 'moon')];
  for (const person of [sun, moon]) {
    await person.visit('code');
    check((await person.grab())[0].code === 'GRANTED', 'a code');
    await person.ordersSay('待付款');
  }
  const sees = (person) => person.page.$eval('body', (box) => box.textContent);
  for (const person of [sun, moon]) check(!(await sees(person)).includes('VIP-'), 'who has not paid sees no code');
  await sun.toBank();
  await sun.pay();
  await sun.ordersSay('已付款');
  const first = /VIP-\S{9}/.exec(await sun.reads('#orders .units', 'VIP-'))[0];
  await shot(sun, 'code');
  check((await sees(sun)).match(/VIP-/g).length === 1, 'one code');
  await moon.ordersSay('待付款');
  check(!(await sees(moon)).includes('VIP-'), 'nor does another who has not paid');
  await moon.toBank();
  await moon.pay();
  await moon.ordersSay('已付款');
  const second = /VIP-\S{9}/.exec(await moon.reads('#orders .units', 'VIP-'))[0];
  check([first, second].join() === CODES.slice(0, 2).join(), `${first} and ${second}`);

  await operate('restock', { item: 'code', units: 1 });
  const { id } = stage.status('code');
  check(stage.sql(`SELECT GROUP_CONCAT(unit, code ORDER BY unit) FROM shop.codes WHERE sale = '${id}'`)
    === CODES.map((code, at) => `${at + 1}${code}`).join(), 'each number has its code');
  // Numbers begin at 1 again, but codes are not assigned again.
  stage.redis('DEL', 'sale:code');
  await operate('codes', { codes: 'VIP-DDDD-4444' }, '还有 1 个可卖');
  await operate('open', { item: 'code', units: 1, opens: 0, hold: 900 });
  const again = await Person.comes(stage, 'again');
  await again.visit('code');
  await again.grab();
  await again.toBank();
  await again.pay();
  await again.ordersSay('VIP-DDDD-4444');
  await until('who had one before sees it still', async () => {
    await sun.page.goto(`${stage.url}orders.php`);
    return (await sees(sun)).includes(first) && !(await sees(sun)).includes('DDDD');
  });
  return 'each sees their own, and only when it is paid; a new sale hands out none that was handed out';
}

// Numbers of the sale that have no code, and codes that no number has.
function left(stage) {
  const { id, supply } = stage.status('code');
  const [[have, free]] = stage.rows(`SELECT (SELECT COUNT(*) FROM shop.codes WHERE sale = '${id}'),
    (SELECT COUNT(*) FROM shop.codes WHERE sale IS NULL)`);
  return [supply - have, +free];
}

// A sale of one number, and this many codes to sell.
async function sellsCodes(stage, operate, free) {
  stage.sql('DELETE FROM shop.codes');
  stage.redis('DEL', 'sale:code');
  await operate('codes', { codes: Array.from({ length: free + 1 }, (_, at) => `CODE-${at}`).join(' ') }, `还有 ${free + 1} 个可卖`);
  await operate('open', { item: 'code', units: 1, opens: 0, hold: 900 });
}

// A request was stopped after Redis had made numbers, and before all had their codes.
async function stopped(stage, { operate }) {
  await sellsCodes(stage, operate, 4);
  stage.redis('SECKILL.RESTOCK', 'sale:code', 3, 'REQ', 'stopped');
  await operate('restock', { item: 'code', units: 2 }, '请填 1 到 1');
  check(left(stage).join() === '0,1', `after a restock that was refused: ${left(stage)}`);
  stage.redis('SECKILL.RESTOCK', 'sale:code', 3, 'REQ', 'by hand');
  await operate('pause', { item: 'code' }, '2 个号码没有码');
  await operate('codes', { codes: 'CODE-A CODE-B CODE-C' }, '入库 3 个码，还有 1 个可卖');
  check(left(stage).join() === '0,1', `numbers that waited have theirs first: ${left(stage)}`);
  return 'another click hands out the rest before it adds anything; new codes go to numbers without one';
}

// The same restock again, when fewer codes are left than it was for.
async function restockedAgain(stage, { operate }) {
  await sellsCodes(stage, operate, 2);
  stage.redis('SECKILL.RESTOCK', 'sale:code', 2, 'REQ', 'stopped');
  stage.sql(`UPDATE shop.codes SET sale = '${stage.status('code').id}', unit = 2 WHERE sale IS NULL LIMIT 1`);
  await operate('restock', { item: 'code', units: 2, restock: 'stopped' }, '补货 2 件');
  check(stage.status('code').supply === 3 && left(stage).join() === '0,0', `left ${left(stage)}`);
  await operate('restock', { item: 'code', units: 1 }, '请填 1 到 0');
  return 'nothing is added, and the codes that were missing are handed out';
}

// The same opening again, which has another OPENAT.
async function openedAgain(stage, { operate }) {
  await sellsCodes(stage, operate, 2);
  stage.redis('DEL', 'sale:code');
  stage.redis('SECKILL.INIT', 'sale:code', 2, 'HOLD', 900000, 'OUTBOX', 'sale:orders', 'NUMBERED');
  await operate('open', { item: 'code', units: 2, opens: 10, hold: 900 }, 'SALEEXISTS');
  check(left(stage).join() === '0,0', `left ${left(stage)}`);
  return 'SALEEXISTS, and the codes are handed out';
}

// Operators who restock at the same moment.
async function together(stage, { operator, operate }) {
  await sellsCodes(stage, operate, 6);
  const cookie = `PHPSESSID=${await operator.session()}`;
  const csrf = await operator.page.$eval('#work [name=csrf]', (field) => field.value);
  const restock = async () => JSON.parse((await stage.page('operator.php', { headers: { cookie },
    fields: { csrf, item: 'code', work: 'restock', units: 2, restock: crypto.randomBytes(16).toString('hex') } })).text).say;
  const answers = [];
  for (let round = 0; round < 6; round += 1) answers.push(...await Promise.all(Array.from({ length: 4 }, restock)));
  const done = answers.filter((say) => say.includes('补货 2 件')).length;
  check(done === 3 && left(stage).join() === '0,0', `${done} restocks of 2, left ${left(stage)}: ${answers}`);
  const twice = stage.sql("SELECT COUNT(*) - COUNT(DISTINCT unit) FROM shop.codes WHERE sale IS NOT NULL");
  check(twice === '0', `${twice} codes of a number that has one`);
  return `24 restocks of 2, four at a time, with 6 codes: ${done}`;
}

// More codes than a statement takes.
async function many(stage, { operate }) {
  stage.sql(`DELETE FROM shop.codes; INSERT INTO shop.codes (item, code) SELECT 'code', seq FROM shop.seq_1_to_2500`);
  stage.redis('DEL', 'sale:code');
  await operate('open', { item: 'code', units: 2300, opens: 0, hold: 900 });
  check(left(stage).join() === '0,200', `left ${left(stage)}`);
  check(stage.sql('SELECT COUNT(*) FROM shop.codes WHERE unit = code') === '2300', 'in their order');
  stage.sql('DELETE FROM shop.codes');
  return '2,300 numbers';
}

module.exports = [['codes', codes], ['a restock that was stopped', stopped],
  ['a restock of codes, again', restockedAgain], ['an opening of codes, again', openedAgain], ['codes for several operators', together],
  ['many codes', many]];
