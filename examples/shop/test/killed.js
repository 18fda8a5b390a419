// After SIGKILL the shop leaves no process behind. This part is the last, because it ends the shop.
'use strict';

const fs = require('node:fs');
const { check, until } = require('./stage.js');

async function killed(stage) {
  const processes = stage.processes();
  check(processes.length > 40, `${processes.length} processes`);
  process.kill(stage.shop.pid, 'SIGKILL');
  await until('all have ended', () => processes.every(({ pid }) => !fs.existsSync(`/proc/${pid}`)));
  return `with SIGKILL: its ${processes.length} processes end, too`;
}

module.exports = [['killed', killed]];
