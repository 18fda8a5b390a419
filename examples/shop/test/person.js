// A person at a browser of their own.
'use strict';

const { check, until } = require('./stage.js');

class Person {
  static async comes(stage, name, password = `password of ${name}`) {
    const person = new Person();
    person.stage = stage;
    person.context = await stage.browser.createBrowserContext();
    person.page = await person.context.newPage();
    await person.page.setViewport({ width: 820, height: 450 });
    await person.page.setExtraHTTPHeaders({ 'Accept-Language': 'zh-CN' });
    // The browser's clock is an hour fast, which must not matter.
    await person.page.evaluateOnNewDocument('{ const now = Date.now; Date.now = () => now() + 3600_000; }');
    await person.page.goto(`${stage.url}login.php`);
    await person.page.type('[name=name]', name);
    await person.page.type('[name=password]', password);
    await person.press('main button');
    check((await person.session()) !== undefined, `${name} is logged in`);
    return person;
  }

  async session() {
    return (await this.context.cookies()).find((cookie) => cookie.name === 'PHPSESSID')?.value;
  }

  async press(button) {
    await Promise.all([this.page.waitForNavigation(), this.page.click(button)]);
  }

  async visit(item) {
    await this.page.goto(`${this.stage.url}?item=${item}`);
    await this.reads('#stock', '剩余');
  }

  // Presses the button this many times at once; returns the answers.
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
    let says;
    await until(() => `"${words}" in ${where}, which says "${says}"`, async () => {
      says = await this.page.$eval(where, (box) => box.textContent);
      return says.includes(words);
    });
    return says;
  }

  // From the page of the sale or of the orders to the bank: shop.js sends the bill, which is not in the
  // address.
  async toBank() {
    await this.page.click('main form[action="/pay.php"] button');
    await until(() => `the bank, from ${this.page.url()}`, () => this.page.url().endsWith('/bank/'));
    await this.page.waitForSelector('button#pay');
  }

  // The bill on the bank's page.
  bill() {
    return this.page.$eval('main form', (form) => Object.fromEntries(new FormData(form)));
  }

  async pay() {
    await this.press('#pay');
    check(this.page.url().endsWith('/orders.php'), `back from the bank: ${this.page.url()}`);
  }

  // Waits until the list of orders shows this text, because worker and order writer need some time.
  async ordersSay(words) {
    await until(`an order that is ${words}`, async () => {
      await this.page.goto(`${this.stage.url}orders.php`);
      return (await this.page.$eval('main', (box) => box.textContent)).includes(words);
    });
  }
}

// The operator's page: `operate(work, fields)` presses a button and reads the answer.
async function operatorComes(stage) {
  const operator = await Person.comes(stage, 'operator', stage.secret('operator'));
  const operate = async (work, fields = {}, says = '完成') => {
    const { page } = operator;
    await page.goto(`${stage.url}operator.php`);
    for (const [name, value] of Object.entries(fields)) {
      await page.$eval(`#work [name=${name}]`, (field, to) => { field.value = to; }, String(value));
    }
    await page.click(`[value=${work}]`);
    return operator.reads('#done', says);
  };
  return { operator, operate };
}

module.exports = { Person, operatorComes };
