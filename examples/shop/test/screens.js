// The look of the pages: on a phone, the states of the button, in English.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { Person } = require('./person.js');
const { check, until } = require('./stage.js');

const SHOP = path.join(__dirname, '..');
const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true, deviceScaleFactor: 1 };
const HAN = /\p{Script=Han}/u;

// An account with an order in each state.
async function shopper(stage, name) {
  const person = await Person.comes(stage, name);
  for (const item of ['phone', 'ticket', 'coupon']) {
    stage.newSale(item, 5, 900);
    await person.visit(item);
    await person.grab();
    if (item === 'coupon') continue;
    await person.toBank();
    await person.pay();
  }
  await until('the list of orders', async () => {
    await person.page.goto(`${stage.url}orders.php`);
    return (await person.page.$$('#orders li')).length === 3;
  });
  return person;
}

async function phone(stage, { operator }, shot) {
  const person = await shopper(stage, 'a_name_that_is_as_long_as_a_name_may_be0');
  const fits = async (who, page) => {
    await who.page.goto(stage.url + page);
    const width = await who.page.evaluate(() => document.documentElement.scrollWidth);
    check(width <= PHONE.width, `/${page} is ${width} px wide`);
  };
  const shots = { 'orders.php': 'orders-phone' };
  for (const who of [person, operator]) await who.page.setViewport(PHONE);
  for (const page of ['?item=coupon', '?item=hall', '?item=code', 'orders.php', 'login.php', 'busy.html']) {
    await fits(person, page);
    if (shots[page]) await shot(person, shots[page]);
  }
  for (const page of ['operator.php', 'books.php?item=phone']) await fits(operator, page);
  await person.page.goto(`${stage.url}orders.php`);
  await person.toBank();
  const width = await person.page.evaluate(() => document.documentElement.scrollWidth);
  check(width <= PHONE.width, `the bank is ${width} px wide`);
  await operator.page.setViewport({ width: 820, height: 450 });
  return 'nine pages are no wider than 390 px';
}

async function button(stage) {
  const person = await Person.comes(stage, 'eve');
  const looks = {};
  const look = async (name, words) => {
    await person.reads('#grab', words);
    looks[name] = await person.page.$eval('#grab', (box) => `${getComputedStyle(box).backgroundColor} ${getComputedStyle(box).color}`);
  };
  stage.newSale('phone', 1, 900);
  stage.redis('SECKILL.ALTER', 'sale:phone', 'OPENAT', String(Date.now() + 60_000));
  await person.visit('phone');
  await look('before', '还没开始');
  stage.redis('SECKILL.ALTER', 'sale:phone', 'OPENAT', '0');
  await look('now', '立即抢购');
  await stage.while('redis', async () => {
    await person.page.click('#grab');
    await look('asking', '抢购中…');
    await person.reads('#answer', '请再点一次');
  });
  await person.grab();
  const shown = () => person.page.$eval('#grab', (box) => box.checkVisibility());
  check(!await shown(), 'after winning the button is gone');
  await person.visit('phone');
  check(!await shown(), 'and stays away');
  const late = await Person.comes(stage, 'lena');
  await late.visit('phone');
  await late.reads('#grab', '已抢光');
  looks.over = await late.page.$eval('#grab', (box) => `${getComputedStyle(box).backgroundColor} ${getComputedStyle(box).color}`);
  check(new Set(Object.values(looks)).size === 4, `looks: ${JSON.stringify(looks)}`);
  return 'before, open, asked and sold out look different; won, it is gone';
}

async function english(stage, { operator }, shot) {
  const person = await shopper(stage, 'Emma');
  await person.visit('coupon');
  await Promise.all([person.page.waitForNavigation(), person.page.click('nav a[href^="?lang=en"]')]);
  check(person.page.url().includes('item=coupon'), 'the switch stays with the item');
  const reads = async (who, page) => {
    await who.page.goto(stage.url + page);
    await who.page.waitForFunction(() => document.readyState === 'complete' && (byId('stock')?.textContent ?? 'x').trim() !== '');
    const text = await who.page.evaluate(() => document.body.innerText.replace('中文', ''));
    check(!HAN.test(text), `/${page} in English: ${text}`);
  };
  const shots = { '?item=coupon': 'sale-english', 'orders.php': 'orders-english' };
  for (const page of ['?item=coupon', '?item=hall', '?item=code', 'orders.php', 'login.php', 'operator.php']) {
    await reads(person, page);
    if (shots[page]) await shot(person, shots[page]);
  }
  await person.page.goto(`${stage.url}orders.php`);
  await person.toBank();
  check(!HAN.test(await person.page.evaluate(() => document.body.innerText)), 'the bank in English');
  await operator.page.goto(`${stage.url}operator.php?lang=en`);
  for (const page of ['operator.php', 'books.php?item=coupon']) {
    await reads(operator, page);
    if (page.startsWith('operator')) await shot(operator, 'operator-english');
  }
  await operator.page.goto(`${stage.url}operator.php?lang=zh`);
  return 'every page, and the next one too';
}

// Compares the texts in calls of t() with its English texts.
async function words() {
  const files = execFileSync('find', [SHOP, '-name', '*.php', '-not', '-path', '*/test/*', '-not', '-name', 'english.php'], { encoding: 'utf8' });
  const said = new Set();
  for (const file of files.trim().split('\n')) {
    for (const [, text] of fs.readFileSync(file, 'utf8').matchAll(/'([^'\n]*\p{Script=Han}[^'\n]*)'/gu)) said.add(text);
  }
  said.delete('中文');
  const known = Object.keys(JSON.parse(execFileSync('php', ['-r', `echo json_encode(require '${SHOP}/lib/english.php');`], { encoding: 'utf8' })));
  const missing = [...said].filter((text) => !known.includes(text));
  const idle = known.filter((text) => !said.has(text));
  check(missing.length + idle.length === 0, `without English: ${missing}; never said: ${idle}`);
  return `${known.length} have their English`;
}

module.exports = [['a phone', phone], ['the button', button], ['English', english], ['words', words]];
