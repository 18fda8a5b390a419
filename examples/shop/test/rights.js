// Secrets and rights: the permissions of each process, and the secrets that it can read.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { Person } = require('./person.js');
const { ask, check, until } = require('./stage.js');

const POOLS = ['sale', 'pages', 'login', 'operator', 'bank'];

async function secretsAreNoWords(stage) {
  const names = fs.readdirSync(path.join(stage.run, 'secrets'));
  const secrets = names.map((name) => stage.secret(name));
  check(new Set(secrets).size === names.length && secrets.every((secret) => /^[0-9a-f]{32}$/.test(secret)), 'one each');
  const calls = fs.readFileSync(stage.calls, 'utf8');
  check(calls.includes('mariadbd ') && calls.includes('setpriv '), 'calls are written down');
  const shown = names.filter((name) => calls.includes(stage.secret(name)));
  check(shown.length === 0, `on a command line: ${shown}`);
  const open = ['secrets', 'fpm.conf', 'data/redis.conf'].filter((file) => fs.statSync(path.join(stage.run, file)).mode & 0o077);
  check(open.length === 0, `for others to read: ${open}`);
  return `${names.length} secrets, none in ${calls.split('\n').length - 1} command lines`;
}

// Runs the attacker's page in this pool.
async function probe(stage, pool) {
  const { text } = await ask(`${stage.crowd}/probe/${pool}`);
  return JSON.parse(text);
}

async function poolsKnowTheirOwn(stage) {
  const known = {};
  for (const pool of POOLS) {
    const { user, env, databases, files } = await probe(stage, pool);
    const root = process.getuid() === 0;
    check(!root || (user === 'www-data' && files.length === 0 && databases.length === 0),
      `${pool} runs as ${user}, reads ${files}, is ${databases} of the database`);
    const names = fs.readdirSync(path.join(stage.run, 'secrets'));
    known[pool] = names.filter((name) => Object.values(env).includes(stage.secret(name))).join(' ');
  }
  const may = { sale: 'redis-sale', pages: 'database-pages key-bill key-paid redis-pages', login: 'database-login',
    operator: 'database-operator key-answer key-ask redis-operator', bank: 'database-bank key-answer key-ask key-bill key-refund' };
  for (const pool of POOLS) check(known[pool] === may[pool], `${pool} knows ${known[pool]}`);
  return process.getuid() === 0 ? 'www-data, no file, not root of the database; of the secrets each its own' : 'of the secrets each its own';
}

async function nobodyRunsAsRoot(stage) {
  const processes = stage.processes();
  check(processes.length > 40, `${processes.length} processes`);
  const masters = processes.filter(({ words }) => /^(nginx|php-fpm): master/.test(words));
  check(masters.length === 2, `masters: ${masters.map(({ words }) => words)}`);
  const me = process.getuid();
  const wrong = processes.filter((one) => (me === 0 ? one.uid === 0 && !masters.includes(one) : one.uid !== me));
  check(wrong.length === 0, `of user ${me}: ${wrong.map(({ words }) => words)}`);
  return me === 0 ? `of ${processes.length} processes two are root's: the masters of nginx and php-fpm` : 'all are of who started it';
}

async function databaseUsersMayTheirOwn(stage) {
  const tries = {
    login: ['UPDATE shop.accounts SET operator = TRUE', 'INSERT INTO shop.accounts (name, password, operator) VALUES ("x", "x", TRUE)',
      'DELETE FROM shop.accounts', 'SELECT * FROM shop.payments', 'SELECT * FROM bank.trades', 'SELECT * FROM shop.codes'],
    pages: ['UPDATE shop.accounts SET operator = TRUE', 'SELECT password FROM shop.accounts', 'UPDATE shop.payments SET state = "PAID"',
      'UPDATE shop.payments SET fen = 1', 'DELETE FROM shop.payments', 'UPDATE shop.orders SET state = "SOLD"',
      'INSERT INTO shop.payments (sale, item, account, req, fen, until, state) VALUES ("", "", 0, "", 0, 0, "PAID")', 'UPDATE bank.trades SET fen = 1',
      'UPDATE shop.units SET seq = 1', 'UPDATE shop.codes SET unit = 1', 'DELETE FROM shop.codes'],
    operator: ['UPDATE shop.accounts SET operator = TRUE', 'SELECT password FROM shop.accounts', 'UPDATE shop.payments SET taken = TRUE',
      'SELECT code FROM shop.codes', 'UPDATE shop.codes SET code = "mine"', 'DELETE FROM shop.codes', 'UPDATE shop.units SET seq = 1'],
    worker: ['UPDATE shop.orders SET state = "SOLD"', 'SELECT * FROM shop.accounts', 'UPDATE shop.payments SET fen = 1', 'UPDATE bank.trades SET state = "REFUNDED"', 'SELECT * FROM shop.codes'],
    writer: ['SELECT * FROM shop.accounts', 'SELECT * FROM shop.payments', 'DELETE FROM shop.orders', 'SELECT * FROM shop.codes'],
    bank: ['SELECT * FROM shop.codes', 'SELECT * FROM shop.payments', 'SELECT * FROM shop.accounts'],
  };
  for (const [user, statements] of Object.entries(tries)) {
    const login = { user, password: stage.secret(`database-${user}`) };
    check(stage.sql('SELECT 1', login) === '1', `${user} is let in`);
    for (const statement of [...statements, 'DROP TABLE shop.orders', 'CREATE TABLE shop.mine (id INT)', 'SELECT * FROM mysql.global_priv']) {
      let told = 'allowed';
      try {
        stage.sql(statement, login);
      } catch (error) {
        told = error.stderr;
      }
      check(/denied/.test(told), `${user}: ${statement}: ${told}`);
    }
  }
  return `${Object.values(tries).flat().length + 18} statements of six users, all denied`;
}

// The pools' users of Redis, whichever these are, and what code in such a pool would try.
async function redisUsersMayTheirOwn(stage) {
  stage.newSale('phone', 5, 900);
  const sale = 'sale:phone';
  stage.redis('SECKILL.GRAB', sale, 'ann', 'REQ', 'of-ann');
  const own = (word) => [`SECKILL.${word}`, sale, 'ann', 'REQ', 'of-ann'];
  const shared = [own('IMPORT').toSpliced(3, 0, 1), ['SECKILL.INIT', 'sale:mine', 9], ['SECKILL.RESTOCK', sale, 9, 'REQ', 'mine'],
    ['DEL', sale], ['RENAME', sale, 'sale:mine'], ['XREAD', 'STREAMS', 'sale:orders', '0'], ['CONFIG', 'GET', '*'], ['ACL', 'LIST'], ['FLUSHALL']];
  const paying = [own('CONFIRM'), own('CANCEL'), own('EXTEND').toSpliced(3, 0, 99), own('REFUND'), ['SECKILL.PAUSE', sale]];
  const tries = { sale: [...shared, ...paying, ['SECKILL.MGRAB', 'bob', 'REQ', 'x', sale]],
    pages: [...shared, ...paying, ['SECKILL.GRAB', sale, 'bob']],
    operator: [own('GRAB'), own('CONFIRM'), own('CANCEL'), own('EXTEND').toSpliced(3, 0, 99), ['FLUSHALL'], ['ACL', 'LIST']] };
  for (const [pool, commands] of Object.entries(tries)) {
    const { REDIS_USER: user, REDIS_PASSWORD: password } = (await probe(stage, pool)).env;
    check(stage.redisAs({ user, password }, ['SECKILL.STATUS', sale]).supply === 5, `${pool} is let in`);
    for (const command of commands) {
      let told = 'allowed';
      try {
        stage.redisAs({ user, password }, command);
      } catch (error) {
        told = `${error.stdout}${error.stderr}`;
      }
      check(told.includes('NOPERM'), `${pool} as ${user}: ${command.join(' ')}: ${told}`);
    }
  }
  const { held, sold } = stage.status('phone');
  check(held === 1 && sold === 0, `${held} held, ${sold} sold`);
  return `${Object.values(tries).flat().length} commands of three users, all denied`;
}

async function hostsStayOut(stage) {
  const seen = [];
  for (const page of ['orders.php', 'operator.php', 'bank', 'bank/refund/', 'index.php/', '?item=phone', 'login.php']) {
    const { status, headers, text } = await stage.page(page, { headers: { Host: 'evil.example' } });
    check(!JSON.stringify(headers).includes('evil') && !text.includes('evil'), `/${page}: HTTP ${status} ${headers.location}`);
    if (headers.location) seen.push(headers.location);
  }
  check(seen.length > 0, 'some redirect');
  return `Location: ${seen}`;
}

// Sends the login form without having loaded its page.
async function login(stage, name, password, from, planted = '') {
  const form = await stage.page('login.php', { from });
  const token = /name="csrf" value="([0-9a-f]*)"/.exec(form.text)[1];
  const cookie = `${form.headers['set-cookie'][0].split(';')[0]}; ${planted}`;
  return stage.page('login.php', { fields: { csrf: token, name, password }, headers: { cookie, Accept: 'text/html' }, from });
}

async function names(stage) {
  const refused = { 'operator with U+200B': 'oper\u200Bator', '41 code points in 40 letters': `${'a'.repeat(39)}e\u0301`,
    'an emoji': '😀', 'another emoji': '😎', 'Cyrillic letters': '\u043eper\u0430tor', 'a NUL': 'a\0b', 'bytes that are no text': '\udcff',
    '41 letters': 'a'.repeat(41), nothing: '' };
  for (const [what, name] of Object.entries(refused)) {
    const { status, text } = await login(stage, name, 'long enough');
    check(status === 200 && text.includes('名字或密码不对'), `${what}: HTTP ${status}`);
  }
  for (const password of ['with\0NUL in it', 'short', 'x'.repeat(73)]) {
    const { status } = await login(stage, 'pat', password);
    check(status === 200, `password "${password}": HTTP ${status}`);
  }
  for (const [one, two] of [['𠮷田', '𠮶田'], ['王小明', '王晓明']]) {
    for (const name of [one, two]) check((await login(stage, name, `password of ${name}`)).status === 303, `${name} is somebody`);
  }
  const accounts = stage.rows('SELECT name FROM shop.accounts').flat();
  check(['𠮷田', '𠮶田', '王小明', '王晓明'].every((name) => accounts.includes(name)), `accounts: ${accounts}`);
  return `${Object.keys(refused).length} names and three passwords refused with a page, names of two characters that look alike are two`;
}

async function formsOfOthers(stage) {
  const form = await stage.page('login.php');
  const token = /name="csrf" value="([0-9a-f]*)"/.exec(form.text)[1];
  const fields = { name: 'mallory', password: 'long enough', csrf: token };
  check((await stage.page('login.php', { fields })).status === 403, 'the form without its cookie');
  const cookie = `login=${'0'.repeat(32)}`;
  check((await stage.page('login.php', { fields, headers: { cookie } })).status === 403, 'with another one');
  check((await stage.page('login.php', { fields: { ...fields, csrf: '' }, headers: { cookie: 'login=' } })).status === 403, 'with none');
  return 'refused: a login by the form of another site';
}

async function plantedSession(stage) {
  const planted = 'b'.repeat(48);
  const { status, headers } = await login(stage, 'paula', 'password of paula', undefined, `PHPSESSID=${planted}`);
  const session = headers['set-cookie'].filter((set) => set.startsWith('PHPSESSID')).at(-1);
  check(status === 303 && !session.includes(planted), `HTTP ${status} ${session}`);
  const stranger = await stage.page('orders.php', { headers: { cookie: `PHPSESSID=${planted}` } });
  check(stranger.status === 303, 'who planted it is nobody');
  return 'a number that was planted before the login is worth nothing after it';
}

async function injections(stage) {
  const sql = "' OR '1'='1' -- ";
  const before = stage.sql('SELECT COUNT(*) FROM shop.accounts');
  for (const fields of [{ name: 'operator', password: sql.repeat(2) }, { name: `operator${sql}`, password: 'long enough' }, { name: '<script>', password: 'long enough' }]) {
    check((await login(stage, fields.name, fields.password)).status === 200, `in by ${JSON.stringify(fields)}`);
  }
  check(stage.sql('SELECT COUNT(*) FROM shop.accounts') === before, 'nobody new');
  const buyer = stage.buyer();
  const told = await Promise.all([buyer.get(`index.php?item=${encodeURIComponent(sql)}`), buyer.get('index.php?item[]=phone'),
    buyer.get('index.php?lang[]=en'), buyer.get('state.php?item=%00')]);
  check(told.map(({ status }) => status).join() === '404,200,200,404', `HTTP ${told.map(({ status }) => status)}`);
  for (const page of ['lib/web.php', '../lib/web.php', '..%2flib%2fweb.php', 'bank/worker.php', 'test/probe.php', '.git/config', 'start']) {
    check([400, 404].includes((await stage.page(page)).status), `/${page} is there`);
  }
  return 'SQL, scripts, arrays and paths find nothing';
}

async function takenAway(stage) {
  const boss = await Person.comes(stage, 'boss');
  const look = async () => (await boss.page.goto(`${stage.url}operator.php`)).status();
  check((await look()) === 403, 'nobody yet');
  stage.sql("UPDATE shop.accounts SET operator = TRUE WHERE name = 'boss'");
  check((await look()) === 200, 'an operator');
  stage.sql("UPDATE shop.accounts SET operator = FALSE WHERE name = 'boss'");
  check((await look()) === 403, 'out at once, with the session of before');
  check((await boss.page.goto(`${stage.url}books.php`)).status() === 403, 'and out of the books');
  return 'who is no operator any more is out at once';
}

async function restocks(stage, { operator, operate }) {
  stage.newSale('coupon', 5, 900);
  await operate('restock', { item: 'coupon', units: 7 }, '补货 7 件');
  await operator.page.$eval('#done', (box) => { box.textContent = ''; });
  await operator.page.click('[value=restock]');
  await operator.reads('#done', '补货 7 件，现在剩余 19 件');
  const number = () => operator.page.$eval('[name=restock]', (field) => field.value);
  const before = await number();
  await stage.while('redis', async () => {
    await operator.page.click('[value=restock]');
    await operator.reads('#done', '活动火爆');
  });
  check((await number()) === before, 'not answered it keeps its number');
  await operator.page.click('[value=restock]');
  await operator.reads('#done', '补货 7 件，现在剩余 26 件');
  check(stage.status('coupon').supply === 26, `supply ${stage.status('coupon').supply}`);
  return 'twice on one page: twice 7; once without an answer and again: once 7';
}

async function empties(stage, { operate }) {
  stage.redis('DEL', 'sale:coupon');
  for (const fields of [{ hold: '' }, { hold: '0' }, { hold: '-5' }, { hold: '1e3' }, { units: '' }, { units: '0' }, { opens: '' }, { sample: '' }]) {
    await operate('open', { item: 'coupon', units: 5, opens: 0, hold: 900, sample: 1000, ...fields }, '请填');
  }
  await until('no sale has been made', () => stage.redis('EXISTS', 'sale:coupon') === 0);
  return 'a field that is empty or out of its bounds opens nothing';
}

module.exports = [
  ['secrets', secretsAreNoWords],
  ['pools', poolsKnowTheirOwn],
  ['processes', nobodyRunsAsRoot],
  ['users of the database', databaseUsersMayTheirOwn],
  ['users of Redis', redisUsersMayTheirOwn],
  ['another Host', hostsStayOut],
  ['names', names],
  ['logins by others', formsOfOthers],
  ['a planted session', plantedSession],
  ['injections', injections],
  ['an operator no more', takenAway],
  ['restocks', restocks],
  ['empty fields', empties],
];
module.exports.login = login;
