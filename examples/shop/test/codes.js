// Codes by number: a buyer sees a code only after paying, and never another buyer's.
'use strict';

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

module.exports = [['codes', codes]];
