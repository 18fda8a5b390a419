// `make shop-test`: tests examples/shop with and without a browser. --docs FOLDER saves pictures, --only NAME runs
// one of the parts below.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { operatorComes } = require('./person.js');
const { Stage } = require('./stage.js');

// Each part is one test, or a list of [title, test]; a test returns a summary.
const PARTS = ['persons', 'rush', 'hall', 'codes', 'rights', 'money', 'still', 'screens', 'outage', 'killed'];

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at > 0 ? process.argv[at + 1] : null;
};
const folder = option('--docs');
const told = (line) => process.stdout.write(`ok  ${line}\n`);
const failures = [];

async function shot(person, name) {
  if (folder === null) return;
  fs.mkdirSync(folder, { recursive: true });
  await person.page.screenshot({ path: path.join(folder, `${name}.png`) });
}

async function attempt(what, test) {
  try {
    const saw = await test();
    if (saw) told(`${what}: ${saw}`);
  } catch (error) {
    failures.push(what);
    process.stdout.write(`FAILED  ${what}: ${error.message}\n`);
  }
}

async function main() {
  const stage = await Stage.open();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stage.close().finally(() => process.exit(1)));
  try {
    const operator = await operatorComes(stage);
    for (const name of PARTS.filter((part) => [null, part].includes(option('--only')))) {
      const part = require(`./${name}.js`);
      const tests = typeof part === 'function' ? [[name, () => part(stage, told, shot, operator)]] : part;
      for (const [what, test] of tests) await attempt(what, () => test(stage, operator, shot));
    }
    await attempt('PHP complained', () => {
      if (stage.complaints() !== '') throw new Error(stage.complaints());
    });
  } finally {
    await stage.close();
  }
  process.exit(failures.length > 0 ? 1 : 0);
}

main().catch((error) => {
  process.stderr.write(`FAILED: ${error.stack}\n`);
  process.exit(1);
});
