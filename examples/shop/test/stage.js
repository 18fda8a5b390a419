// Starts and ends the shop and a browser, and reads the shop's data.
'use strict';

const { spawn, execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const puppeteer = require('puppeteer-core');

const ROOT = path.join(__dirname, '../../..');
const DEADLINE_MS = 30_000;
// Programs called by `start`, whose command lines are recorded.
const WATCHED = ['sed', 'php', 'redis-cli', 'redis-server', 'mariadb', 'mariadbd', 'mariadb-install-db', 'nginx', 'setpriv'];

// Ends with this process, also when it is killed.
const child = (command, ...options) => spawn('setpriv', ['--pdeathsig', 'TERM', ...command], ...options);

function check(holds, what) {
  if (!holds) throw new Error(what);
}

async function until(what, attempt, deadlineMs = DEADLINE_MS) {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const found = await attempt();
    if (found) return found;
    check(Date.now() < deadline, `it did not come to this in ${deadlineMs} ms: ${typeof what === 'string' ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = require('node:net').createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// One request: { status, headers, text, ms }, or status 0 if the connection ended without an answer.
// `from`: the client's address.
function ask(url, { fields, headers = {}, from = '127.0.0.1', method = fields ? 'POST' : 'GET' } = {}) {
  const begun = performance.now();
  const body = fields ? new URLSearchParams(fields).toString() : '';
  const form = fields ? { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': Buffer.byteLength(body) } : {};
  return new Promise((resolve) => {
    const told = (status, heads = {}, text = '') => resolve({ status, headers: heads, text, ms: performance.now() - begun });
    const request = http.request(url, { method, headers: { ...form, ...headers }, localAddress: from, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (data) => { text += data; })
        .on('end', () => told(answer.statusCode, answer.headers, text)).on('error', () => told(0));
    });
    request.on('error', () => told(0));
    request.end(body);
  });
}

class Stage {
  static async open() {
    const stage = new Stage();
    stage.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seckill-shop-'));
    fs.chmodSync(stage.folder, 0o711);
    const run = path.join(stage.folder, 'run');
    stage.run = run;
    // An address that is not the default one: the shop's own processes must find it, too.
    const env = { LISTEN: '127.0.0.3', ...process.env, PATH: `${stage.watch()}:${process.env.PATH}` };
    stage.shop = child([path.join(ROOT, 'examples/shop/start'), run], { stdio: ['ignore', 'pipe', 'inherit'], env });
    let told = '';
    stage.shop.stdout.on('data', (data) => { told += data; });
    await until('the shop is open', () => {
      check(stage.shop.exitCode === null, 'the shop did not start');
      return told.includes('The database:');
    }, 60_000);
    stage.url = /http:\S+\//.exec(told)[0];
    stage.redisPort = /redis-cli -p (\d+)/.exec(told)[1];
    const pipe = { pipe: true, executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium' };
    const root = process.getuid() === 0 ? ['--no-sandbox'] : [];
    stage.browser = await puppeteer.launch({ ...pipe, args: root });
    stage.buyers = 1_000_000;
    await stage.openCrowd();
    return stage;
  }

  // A folder with wrappers that record the command lines of these programs.
  watch() {
    const folder = path.join(this.folder, 'bin');
    fs.mkdirSync(folder, { mode: 0o755 });
    this.calls = path.join(this.folder, 'calls');
    fs.writeFileSync(this.calls, '', { mode: 0o666 });
    fs.chmodSync(this.calls, 0o666);
    const shells = `PATH=${process.env.PATH}:/usr/sbin`;
    for (const name of WATCHED) {
      const program = execFileSync('sh', ['-c', `${shells} command -v ${name}`], { encoding: 'utf8' }).trim();
      fs.writeFileSync(path.join(folder, name), `#!/bin/sh\nprintf '%s\\n' "${name} $*" >>${this.calls}\nexec ${program} "$@"\n`, { mode: 0o755 });
    }
    return folder;
  }

  async close() {
    await this.browser?.close();
    for (const ended of [this.web, this.shop]) {
      if (ended && ended.exitCode === null && ended.signalCode === null) {
        const over = new Promise((resolve) => { ended.on('exit', resolve); });
        ended.kill();
        await over;
      }
    }
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  secret(name) {
    return fs.readFileSync(path.join(this.run, 'secrets', name), 'utf8');
  }

  // Lines of PHP's log; none when all is well.
  complaints() {
    const log = path.join(this.run, 'web/php.log');
    const lines = fs.existsSync(log) ? fs.readFileSync(log, 'utf8').split('\n') : [];
    // A Redis or MariaDB that does not answer is expected in these tests.
    const played = /Seckill\\Unanswered|RedisException: read error|PDOException: SQLSTATE\[HY000\]|MySQL server has gone away|read timeout/;
    return lines.filter((line) => line !== '' && !played.test(line)).join('\n');
  }

  redis(...words) {
    return this.redisAs({ user: 'admin', password: this.secret('redis-admin') }, words);
  }

  redisAs({ user, password }, words) {
    const env = { ...process.env, REDISCLI_AUTH: password };
    const login = ['-p', this.redisPort, '--user', user, '--no-auth-warning'];
    const told = execFileSync('redis-cli', [...login, '-e', '--json', ...words], { encoding: 'utf8', env, stdio: 'pipe', maxBuffer: 1 << 26 });
    // INFO is no JSON.
    return words[0] === 'INFO' ? told : JSON.parse(told);
  }

  // Replaces the sale of this item.
  newSale(item, units, holdS, ...terms) {
    this.redis('DEL', `sale:${item}`);
    this.redis('SECKILL.INIT', `sale:${item}`, units, 'HOLD', holdS * 1000, 'OUTBOX', 'sale:orders', ...terms);
    return this.status(item).id;
  }

  status(item) {
    return JSON.parse(this.redis('SECKILL.STATUS', `sale:${item}`, 'JSON'));
  }

  // Checks the sale with AUDIT.
  audit(item) {
    const audit = this.redis('SECKILL.AUDIT', `sale:${item}`);
    check(audit.ok === 1 || audit.ok === true, `AUDIT: ${JSON.stringify(audit)}`);
  }

  sql(query, login = {}) {
    const words = ['--no-defaults', '-S', path.join(this.run, 'data/db.sock'), '--default-character-set=utf8mb4', '-N', '-B'];
    const env = { ...process.env, MYSQL_PWD: login.password };
    if (login.user) words.push('-u', login.user);
    return execFileSync('mariadb', [...words, '-e', query], { encoding: 'utf8', env, stdio: 'pipe', maxBuffer: 1 << 26 }).trim();
  }

  // Begins a transaction. Returns its end, once it has done `statement`.
  async transaction(statement) {
    const words = ['--no-defaults', '-S', path.join(this.run, 'data/db.sock'), '-N', '-B', '--unbuffered'];
    const client = child(['mariadb', ...words], { stdio: ['pipe', 'pipe', 'inherit'] });
    const over = new Promise((resolve) => { client.on('exit', resolve); });
    const done = new Promise((resolve) => { client.stdout.once('data', resolve); });
    client.stdin.write(`BEGIN;\n${statement};\nSELECT 'done';\n`);
    await Promise.race([done, over]);
    return async () => {
      client.stdin.end('COMMIT;\n');
      check((await over) === 0, `the transaction ended with ${client.exitCode}`);
    };
  }

  rows(query) {
    return this.sql(query).split('\n').filter(Boolean).map((row) => row.split('\t'));
  }

  // Number of orders in the database by state: { SOLD: 3 }.
  orders(item) {
    const rows = this.rows(`SELECT state, COUNT(*) FROM shop.orders WHERE id = '${this.status(item).id}' GROUP BY state`);
    return Object.fromEntries(rows.map(([state, n]) => [state, +n]));
  }

  payment(id) {
    return this.sql(`SELECT state FROM shop.payments WHERE id = ${+id}`);
  }

  trade(id) {
    return this.sql(`SELECT state FROM bank.trades WHERE payment = ${+id}`);
  }

  // All processes that `start` has started: [{ pid, uid, words }].
  processes() {
    const all = fs.readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && +pid !== this.shop.pid && belongs(pid, this.shop.pid));
    return all.map((pid) => ({ pid: +pid, uid: +/Uid:\s+(\d+)/.exec(readProcess(pid, 'status'))?.[1],
      words: readProcess(pid, 'cmdline').replaceAll('\0', ' ').trim() })).filter(({ words }) => words !== '');
  }

  pid(part) {
    const name = { redis: /^\S*redis-server /, database: /^\S*mariadbd /, bank: /bank\/worker\.php/, confirm: /worker\.php confirm/, orders: /^\S*seckill orders / }[part];
    const found = this.processes().filter(({ words }) => name.test(words));
    check(found.length === 1, `${found.length} processes of ${part}`);
    return found[0].pid;
  }

  // Freezes a process while `meanwhile` runs.
  async while(part, meanwhile) {
    const pid = this.pid(part);
    process.kill(pid, 'SIGSTOP');
    try {
      return await meanwhile();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  // A signed message of shop or bank as form fields, made without the shop's code.
  message(purpose, fields) {
    const key = this.secret(`key-${purpose}`);
    const sign = crypto.createHmac('sha256', key).update(`${purpose}\n${new URLSearchParams(fields)}`).digest('hex');
    return { ...fields, sign };
  }

  page(name, options) {
    return ask(this.url + name, options);
  }

  // A second web server for this php-fpm, whose visitors are logged in: see load.php.
  async openCrowd() {
    const port = await freePort();
    const folder = path.join(this.folder, 'load');
    fs.mkdirSync(folder, { mode: 0o711 });
    const conf = `daemon off; pid ${folder}/pid; error_log ${folder}/log; user www-data;
      worker_rlimit_nofile 8192; events { worker_connections 4096; }
      http { access_log off; client_body_temp_path ${folder}/1; proxy_temp_path ${folder}/2; fastcgi_temp_path ${folder}/3;
      uwsgi_temp_path ${folder}/4; scgi_temp_path ${folder}/5;
      map $uri $pool { default pages; ~^/(index|state|grab).php$ sale; ~^/(operator|books).php$ operator; /login.php login; }
      server { listen 127.0.0.1:${port} backlog=4096;
      location ~ ^/probe/([a-z]+)$ { include ${this.run}/fastcgi.conf; fastcgi_param SCRIPT_FILENAME ${__dirname}/probe.php; fastcgi_pass unix:${this.run}/web/$1.sock; }
      location / { include ${this.run}/fastcgi.conf; fastcgi_param SCRIPT_FILENAME ${__dirname}/load.php;
      fastcgi_param SHOP_PAGE ${ROOT}/examples/shop/pages$fastcgi_script_name; fastcgi_pass unix:${this.run}/web/$pool.sock; } } }`;
    fs.writeFileSync(path.join(folder, 'conf'), conf);
    this.web = child(['/usr/sbin/nginx', '-p', folder, '-c', `${folder}/conf`], { stdio: 'ignore' });
    this.crowd = `http://127.0.0.1:${port}`;
    await until('the second web server answers', async () => (await ask(`${this.crowd}/state.php`)).text !== '');
  }

  // A logged-in buyer without a browser.
  buyer(id = this.buyers++) {
    const headers = { 'X-Person': String(id), Accept: 'text/html' };
    const post = (page, fields, more = {}) => ask(`${this.crowd}/${page}`, { fields: { csrf: 'of-ab', ...fields }, headers: { ...headers, ...more } });
    return {
      id,
      get: (page) => ask(`${this.crowd}/${page}`, { headers }),
      grab: async (item, order = crypto.randomBytes(16).toString('hex'), wanted = {}) =>
        JSON.parse((await post('grab.php', { item, order, ...wanted }, { Accept: '*/*' })).text),
      // The bill of pay.php, as the fields of its form.
      bill: async (item) => formFields((await post('pay.php', { item })).text, 'bill'),
    };
  }

  // Pays at the bank as the buyer's browser does.
  async payBill(bill) {
    const paid = await this.page('bank/', { fields: { ...bill, pay: '1' } });
    check(paid.status === 303, `the bank: ${paid.status} ${paid.text}`);
  }
}

function readProcess(pid, file) {
  try {
    return fs.readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function belongs(pid, ancestor) {
  for (let at = +pid; at > 1; at = +(/PPid:\s+(\d+)/.exec(readProcess(at, 'status'))?.[1] ?? 0)) {
    if (at === ancestor) return true;
  }
  return false;
}

// The hidden fields of the form with this id.
function formFields(html, id) {
  const form = new RegExp(`<form id="${id}".*?</form>`).exec(html)?.[0];
  check(form !== undefined, `no form "${id}" in: ${html.slice(0, 400)}`);
  return Object.fromEntries([...form.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]));
}

module.exports = { Stage, ask, check, until };
