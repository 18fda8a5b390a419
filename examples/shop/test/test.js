// `make shop-test`: plays examples/shop in a browser, and then under ab. --docs FOLDER keeps pictures.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { Stage } = require('./stage.js');
const persons = require('./persons.js');
const rush = require('./rush.js');

const at = process.argv.indexOf('--docs');
const folder = at > 0 ? process.argv[at + 1] : null;
const told = (line) => process.stdout.write(`ok  ${line}\n`);

async function shot(person, name) {
  if (folder === null) return;
  fs.mkdirSync(folder, { recursive: true });
  await person.page.screenshot({ path: path.join(folder, `${name}.png`) });
}

let complaints = '';

async function main() {
  const stage = await Stage.open();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stage.close().finally(() => process.exit(1)));
  try {
    const operator = await persons(stage, told, shot);
    await rush(stage, told, operator, shot);
  } finally {
    complaints = stage.complaints();
    await stage.close();
  }
  if (complaints !== '') throw new Error('PHP complained');
}

main().catch((error) => {
  process.stderr.write(`FAILED: ${error.message}\n${complaints}`);
  process.exit(1);
});
