// The shop, a browser, and what the books say: `stage` starts them and ends them.
'use strict';

const { spawn, execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const puppeteer = require('puppeteer-core');

const ROOT = path.join(__dirname, '../../..');
const DEADLINE_MS = 30_000;

// Ends with this process, also when it is killed.
const child = (command, ...options) => spawn('setpriv', ['--pdeathsig', 'TERM', ...command], ...options);

function check(holds, what) {
  if (!holds) throw new Error(what);
}

async function until(what, attempt) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await attempt();
    if (found) return found;
    check(Date.now() < deadline, `it did not come to this in ${DEADLINE_MS} ms: ${what}`);
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

class Stage {
  static async open() {
    const stage = new Stage();
    stage.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seckill-shop-'));
    stage.shop = child([path.join(ROOT, 'examples/shop/start'), stage.folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    let told = '';
    stage.shop.stdout.on('data', (data) => { told += data; });
    await until('the shop is open', () => {
      check(stage.shop.exitCode === null, 'the shop did not start');
      return told.includes('The database:');
    });
    stage.url = /http:\S+\//.exec(told)[0];
    stage.redisPort = /redis-cli -p (\d+)/.exec(told)[1];
    stage.secret = fs.readFileSync(path.join(stage.folder, 'secret'), 'utf8');
    const pipe = { pipe: true, executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium' };
    const root = process.getuid() === 0 ? ['--no-sandbox'] : [];
    stage.browser = await puppeteer.launch({ ...pipe, args: [...root, '--lang=zh-CN'] });
    return stage;
  }

  async close() {
    await this.browser?.close();
    for (const ended of [this.web, this.shop]) {
      if (ended && ended.exitCode === null) {
        const over = new Promise((resolve) => { ended.on('exit', resolve); });
        ended.kill();
        await over;
      }
    }
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  // What PHP wrote into its log; nothing when all is well.
  complaints() {
    const log = path.join(this.folder, 'php.log');
    const lines = fs.existsSync(log) ? fs.readFileSync(log, 'utf8').split('\n') : [];
    // That Redis did not answer is part of the play.
    return lines.filter((line) => line !== '' && !line.includes('Seckill\\Unanswered')).join('\n');
  }

  redis(...words) {
    const login = ['-p', this.redisPort, '--user', 'admin', '--pass', `${this.secret}-admin`, '--no-auth-warning'];
    const told = execFileSync('redis-cli', [...login, '-e', '--json', ...words], { encoding: 'utf8' });
    // It shows INFO as it is.
    return words[0] === 'INFO' ? told : JSON.parse(told);
  }

  status(item) {
    return JSON.parse(this.redis('SECKILL.STATUS', `sale:${item}`, 'JSON'));
  }

  // The sale recounts itself.
  audit(item) {
    const audit = this.redis('SECKILL.AUDIT', `sale:${item}`);
    check(audit.ok === 1 || audit.ok === true, `AUDIT: ${JSON.stringify(audit)}`);
  }

  sql(query) {
    const login = ['--no-defaults', '-S', path.join(this.folder, 'db.sock'), '-u', 'root', '-N', '-B'];
    return execFileSync('mariadb', [...login, '-e', query, 'shop'], { encoding: 'utf8' }).trim();
  }

  // How many orders of a sale the database has in each state: { SOLD: 3 }.
  orders(item) {
    const rows = this.sql(`SELECT o.state, COUNT(*) FROM orders o JOIN sales s ON s.id = o.id
      WHERE s.name = 'sale:${item}' GROUP BY o.state`);
    return Object.fromEntries(rows.split('\n').filter(Boolean).map((row) => row.split('\t')).map(([state, n]) => [state, +n]));
  }

  sign(body) {
    const secret = crypto.createHash('sha256').update(this.secret).digest('hex').slice(0, 32);
    return crypto.createHmac('sha256', secret).update(body).digest('hex');
  }

  // A second web server before the same php-fpm, whose visitors have logged in already: see load.php.
  async crowd() {
    const port = await freePort();
    const folder = path.join(this.folder, 'load');
    fs.mkdirSync(folder);
    const conf = `daemon off; pid ${folder}/pid; error_log ${folder}/log;
      ${process.getuid() === 0 ? 'user root;' : ''} worker_rlimit_nofile 8192; events { worker_connections 4096; }
      http { access_log off; client_body_temp_path ${folder}/1; proxy_temp_path ${folder}/2; fastcgi_temp_path ${folder}/3;
      uwsgi_temp_path ${folder}/4; scgi_temp_path ${folder}/5;
      server { listen 127.0.0.1:${port} backlog=4096; location / {
      include ${this.folder}/fastcgi.conf; fastcgi_param SCRIPT_FILENAME ${__dirname}/load.php;
      fastcgi_param SHOP_PAGE ${ROOT}/examples/shop/pages$fastcgi_script_name; fastcgi_pass unix:${this.folder}/shop.sock; } } }`;
    fs.writeFileSync(path.join(folder, 'conf'), conf);
    this.web = child(['/usr/sbin/nginx', '-p', folder, '-c', `${folder}/conf`], { stdio: 'ignore' });
    const url = `http://127.0.0.1:${port}`;
    await until('the second web server answers', () => fetch(`${url}/state.php`).then((told) => told.ok, () => false));
    return url;
  }

  async person(name, password = `password of ${name}`) {
    const person = new Person();
    person.stage = this;
    person.context = await this.browser.createBrowserContext();
    person.page = await person.context.newPage();
    await person.page.setViewport({ width: 820, height: 450 });
    // Their watch is an hour fast, which must not matter.
    await person.page.evaluateOnNewDocument('{ const now = Date.now; Date.now = () => now() + 3600_000; }');
    await person.page.goto(`${this.url}login.php`);
    const before = await person.session();
    await person.page.type('[name=name]', name);
    await person.page.type('[name=password]', password);
    await person.press('main button');
    check(await person.session() !== before, 'a login makes a new session');
    return person;
  }
}

class Person {
  async session() {
    return (await this.context.cookies()).find((cookie) => cookie.name === 'PHPSESSID').value;
  }

  async press(button) {
    await Promise.all([this.page.waitForNavigation(), this.page.click(button)]);
  }

  async visit(item) {
    await this.page.goto(`${this.stage.url}?item=${item}`);
    await this.reads('#stock', '剩余');
  }

  // Presses the button so many times at once, and hears so many answers.
  async grab(times = 1, status = 200) {
    const answers = [];
    const hear = async (response) => {
      if (response.url().endsWith('/grab.php')) answers.push({ status: response.status(), ...await response.json() });
    };
    this.page.on('response', hear);
    await this.page.click('#grab', { count: times });
    await until(`${times} answers`, () => answers.length === times);
    this.page.off('response', hear);
    check(answers.every((answer) => answer.status === status), `HTTP ${status}: ${JSON.stringify(answers)}`);
    return answers;
  }

  async reads(where, words) {
    const says = () => this.page.$eval(where, (box) => box.textContent);
    await until(`"${words}" in ${where}`, async () => (await says()).includes(words));
    return says();
  }

  // From the page of the sale or of the orders to the payment service.
  async toBank() {
    await this.press('main form[action="/pay.php"] button');
    check(this.page.url().includes('/bank/'), `at the bank: ${this.page.url()}`);
  }

  async pay() {
    await this.press('#pay');
    check(this.page.url().endsWith('/orders.php'), `back from the bank: ${this.page.url()}`);
  }

  // What the list of orders says in the end: the order writer may be a moment behind.
  async ordersSay(words) {
    await until(`an order that is ${words}`, async () => {
      await this.page.goto(`${this.stage.url}orders.php`);
      return (await this.page.$eval('main', (box) => box.textContent)).includes(words);
    });
  }
}

module.exports = { Stage, check, until };
