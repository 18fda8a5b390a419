// One process is frozen or flooded: the others still work.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { login } = require('./rights.js');
const { ask, check, until } = require('./stage.js');

// Another address of this machine.
const STRANGER = '127.0.0.2';
const SLOW_MS = 2000;

const many = (n, make) => Promise.all(Array.from({ length: n }, (_, i) => make(i)));
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;

// The slowest of several requests for pages, one after the other, while `meanwhile` runs.
async function slowest(stage, pages, meanwhile) {
  let over = false;
  const done = meanwhile().finally(() => { over = true; });
  // This promise is awaited below; a failure before that must not be reported as unhandled.
  done.catch(() => {});
  let worst = 0;
  do {
    for (const page of pages) {
      const { status, ms } = await stage.page(page);
      check(status === 200, `${page}: HTTP ${status}`);
      worst = Math.max(worst, ms);
    }
  } while (!over);
  return [worst, await done];
}

async function databaseStands(stage) {
  stage.newSale('phone', 50, 900);
  const buyer = stage.buyer();
  const [worst, answers] = await slowest(stage, ['', 'state.php'], () => stage.while('database', async () => {
    const asked = many(40, () => stage.buyer().get('orders.php'));
    const { ms, status } = await ask(`${stage.crowd}/grab.php`, { fields: { csrf: 'of-ab', item: 'phone', order: 'e'.repeat(32) },
      headers: { 'X-Person': String(buyer.id) } });
    check(status === 200 && ms < SLOW_MS, `a GRAB: HTTP ${status} in ${seconds(ms)}`);
    return asked;
  }));
  check(worst < SLOW_MS, `the sale took ${seconds(worst)}`);
  check(answers.every(({ status, text }) => [503, 504].includes(status) && text.startsWith('<!doctype html>') && text.includes('火爆')),
    `40 pages of orders: ${answers.map(({ status }) => status)}`);
  const slow = Math.max(...answers.map(({ ms }) => ms));
  await until('orders are shown again', async () => (await buyer.get('orders.php')).status === 200);
  return `40 pages of orders gave up after at most ${seconds(slow)}; the sale took ${seconds(worst)}`;
}

async function loginsFlood(stage) {
  const entered = await login(stage, 'flooder', 'password of flooder');
  const cookie = entered.headers['set-cookie'].find((set) => set.startsWith('PHPSESSID')).split(';')[0];
  const form = await stage.page('login.php', { headers: { cookie } });
  const token = /name="csrf" value="([0-9a-f]*)"/.exec(form.text)[1];
  const headers = { cookie: `${cookie}; ${form.headers['set-cookie'][0].split(';')[0]}` };
  const flood = (name) => many(200, (i) => stage.page('login.php', { fields: { csrf: token, name: name(i), password: 'a wrong one' }, headers }));
  // Wrong passwords for one name, and then new names, which create accounts.
  const [guessing] = await slowest(stage, ['state.php'], () => flood(() => 'flooder'));
  const [making] = await slowest(stage, ['state.php'], () => flood((i) => `f${i}`));
  const worst = Math.max(guessing, making);
  check(worst < SLOW_MS, `state.php took ${seconds(worst)}`);
  return `twice 200 logins under one session: state.php took ${seconds(worst)}`;
}

async function guesses(stage) {
  const name = 'victim';
  check((await login(stage, name, 'the right one', STRANGER)).status === 303, 'the victim is somebody');
  const form = await stage.page('login.php');
  const headers = { cookie: form.headers['set-cookie'][0].split(';')[0] };
  const csrf = /name="csrf" value="([0-9a-f]*)"/.exec(form.text)[1];
  const guess = (i) => stage.page('login.php', { fields: { csrf, name, password: `guess number ${i}` }, headers });
  // Repeated until nginx refuses all, because earlier tests have logged in, too.
  let judged = 0;
  await until('no more guesses are heard', async () => {
    const answers = await many(135, guess);
    judged += answers.filter(({ status }) => status === 200).length;
    check(judged <= 5 && answers.every(({ status }) => [200, 429].includes(status)), `${judged} of 135 guesses were judged`);
    return answers.some(({ text }) => text.includes('分钟后再来'));
  });
  await until('the limit of nginx is over', async () => (await login(stage, name, 'the right one')).text.includes('分钟后再来'));
  check((await login(stage, name, 'the right one', STRANGER)).status === 303, 'and lets its owner in from elsewhere');
  return `${judged} of 135 guesses were judged, and the victim still gets in from another address`;
}

async function halfRequests(stage) {
  const { hostname: host, port } = new URL(stage.url);
  const open = new Set();
  let [sent, goesOn] = [0, true];
  // Reopens a connection that the server has closed.
  const half = () => {
    const socket = net.connect({ port: +port, host, localAddress: STRANGER }, () => {
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-A', () => { sent += 1; });
    });
    open.add(socket);
    socket.on('error', () => {}).on('close', () => {
      open.delete(socket);
      if (goesOn) setTimeout(half, 10);
    });
  };
  for (let n = 0; n < 6500; n += 1) half();
  try {
    await until('6,500 half requests were sent', () => sent >= 6500);
    let worst = 0;
    // Longer than nginx waits for a header.
    for (const end = performance.now() + 8000; performance.now() < end;) {
      const { status, ms } = await stage.page('state.php');
      worst = Math.max(worst, ms);
      check(status === 200 && ms < 5 * SLOW_MS, `a visitor: HTTP ${status} after ${seconds(ms)}`);
    }
    check(sent > 6500, 'they were ended, and came again');
    goesOn = false;
    await until('they have been ended', () => open.size === 0);
    return `6,500 from one address, sent ${sent} times in 8 s: a visitor has an answer within ${seconds(worst)}`;
  } finally {
    goesOn = false;
    for (const socket of open) socket.destroy();
  }
}

async function sessionFiles(stage) {
  const folder = path.join(stage.run, 'web/sessions');
  const before = fs.readdirSync(folder).length;
  await many(100, () => stage.page('login.php'));
  await many(100, (i) => stage.page(['', 'orders.php', 'login.php', 'operator.php'][i % 4], { headers: { cookie: `PHPSESSID=${String(i).padStart(48, 'a')}` } }));
  const after = fs.readdirSync(folder).length;
  check(after === before, `${after - before} new session files`);
  return '200 visitors without a login, half with a number of their own: no session file';
}

async function whoWaits(stage) {
  const entered = await login(stage, 'waiter', 'password of waiter');
  const cookie = entered.headers['set-cookie'].find((set) => set.startsWith('PHPSESSID')).split(';')[0];
  const folder = path.join(stage.run, 'web/sessions');
  const hours = (n) => fs.utimesSync(path.join(folder, `sess_${cookie.split('=')[1]}`), Date.now() / 1000 - n * 3600, Date.now() / 1000 - n * 3600);
  // PHP's own cleanup of sessions, with the pool's settings.
  const lifetime = /gc_maxlifetime\] = (\d+)/.exec(fs.readFileSync(path.join(stage.run, 'pool.conf'), 'utf8'))?.[1] ?? 1440;
  const sweep = () => execFileSync('php', ['-d', `session.save_path=${folder}`, '-d', `session.gc_maxlifetime=${lifetime}`,
    '-r', 'session_start(); echo session_gc(); session_destroy();'], { encoding: 'utf8' });
  const isIn = async () => (await stage.page('orders.php', { headers: { cookie } })).status === 200;
  hours(3);
  sweep();
  check(await isIn(), 'logged in three hours ago: out');
  hours(13);
  sweep();
  check(!await isIn(), 'logged in yesterday: still in');
  return 'logged in three hours ago: still in; thirteen: out';
}

async function redisStands(stage) {
  const buyer = stage.buyer();
  const [page, anonymous, json] = await stage.while('redis', () => Promise.all([buyer.get('index.php?item=phone'),
    stage.page('', { headers: { Accept: 'text/html' } }), stage.page('state.php')]));
  check(page.status === 503 && /^<!doctype html>.*<\/main>$/s.test(page.text), `HTTP ${page.status}: ${page.text}`);
  check(page.text.includes('火爆') && !page.text.includes('{"') && !page.text.includes('data-csrf'), `a page, whole: ${page.text}`);
  check(anonymous.status === 200 && anonymous.text.includes('id="sale"'), 'who is not logged in sees the page of the sale');
  check(json.status === 503 && JSON.parse(json.text).say.includes('火爆'), `shop.js hears JSON: ${json.text}`);
  return 'a page refuses as a page, shop.js hears JSON';
}

module.exports = [
  ['MariaDB stands still', databaseStands],
  ['Redis stands still', redisStands],
  ['logins flood', loginsFlood],
  ['guesses', guesses],
  ['half requests', halfRequests],
  ['session files', sessionFiles],
  ['who waits for the opening', whoWaits],
];
