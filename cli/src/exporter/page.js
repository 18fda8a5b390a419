// The page of `seckill exporter`: asks /live every second and draws the last 600 readings. They are a
// second apart, or more where reading takes the server long.
'use strict';

const EVERY_MS = 1000;
// A curve begins with the width of sixty.
const POINTS = 600;
const POINTS_AT_LEAST = 60;
const WIDTH = 600;
const UNITS = ['available', 'held', 'sold'];
const cards = new Map();
let before = null;

const byId = (id) => document.getElementById(id);
const count = (number) => Math.round(number).toLocaleString('en');

function node(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// A curve: as many lines as it has classes, all on one scale that begins at 0.
function curve(title, classes) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', `0 0 ${WIDTH} 100`);
  svg.setAttribute('preserveAspectRatio', 'none');
  const lines = classes.map((name) => {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('class', name);
    svg.append(path);
    return { path, points: [] };
  });
  const head = node('div', 'curve');
  const now = node('span');
  head.append(node('span', '', title), now);
  const box = node('div');
  box.append(head, svg);
  return {
    box,
    add(numbers, text) {
      now.textContent = text;
      numbers.forEach((number, at) => {
        lines[at].points.push(number);
        if (lines[at].points.length > POINTS) lines[at].points.shift();
      });
      const top = Math.max(1, ...lines.flatMap((line) => line.points));
      for (const { path, points } of lines) {
        const span = Math.max(POINTS_AT_LEAST, points.length);
        const x = (at) => (WIDTH * (span - points.length + at) / (span - 1)).toFixed(1);
        const place = (number, at) => `${x(at)} ${(98 - 96 * number / top).toFixed(1)}`;
        path.setAttribute('d', `M${points.map(place).join('L')}`);
      }
    },
  };
}

function field(list, name, className) {
  const pair = node('div');
  const value = node('dd', className);
  pair.append(node('dt', '', name), value);
  list.append(pair);
  return value;
}

function card(name) {
  const box = node('article');
  box.dataset.sale = name;
  const top = node('div', 'top');
  const state = node('span', 'state');
  top.append(node('h2', '', name), state);
  const bar = node('div', 'bar');
  const parts = Object.fromEntries(UNITS.map((unit) => [unit, node('i', unit)]));
  bar.append(...UNITS.map((unit) => parts[unit]));
  const list = node('dl');
  const fields = {};
  for (const unit of UNITS) fields[unit] = field(list, unit, unit);
  fields.supply = field(list, 'supply');
  for (const name of ['grants', 'refused', 'deficit', 'to read']) fields[name] = field(list, name);
  const units = curve('units', UNITS);
  const rate = curve('GRAB a second', ['rate']);
  box.append(top, bar, list, units.box, rate.box);
  return { box, state, parts, fields, units, rate };
}

function showSale(sale, last, seconds) {
  if (!cards.has(sale.name)) cards.set(sale.name, card(sale.name));
  const { state, parts, fields, units, rate } = cards.get(sale.name);
  state.textContent = sale.state;
  state.className = `state ${sale.state}`;
  for (const unit of UNITS) {
    parts[unit].style.width = `${100 * sale[unit] / Math.max(1, sale.supply)}%`;
    fields[unit].textContent = count(sale[unit]);
  }
  fields.supply.textContent = count(sale.supply);
  fields.grants.textContent = count(sale.grants);
  fields.refused.textContent = count(sale.attempts - sale.granted);
  fields.deficit.textContent = count(sale.deficit);
  fields.deficit.className = sale.deficit > 0 ? 'bad' : '';
  fields['to read'].textContent = sale.unread === null ? '–' : count(sale.unread);
  units.add(UNITS.map((unit) => sale[unit]), '');
  // A rate takes two readings.
  if (!last) return;
  const calls = Math.max(0, sale.attempts - last.attempts) / seconds;
  rate.add([calls], count(calls));
}

function showServer(live, seconds) {
  const { server } = live;
  byId('server').textContent = `${server.version}, ${server.role}, module ${server.module}`;
  const cpu = before ? 100 * (server.cpu - before.server.cpu) / seconds : 0;
  const parts = [
    `CPU ${cpu.toFixed(1)} %`,
    `memory ${(server.memory / 1048576).toFixed(1)} MiB`,
    `${count(server.clients)} connections`,
  ];
  byId('numbers').textContent = parts.join(' · ');
  const wrong = [];
  if (server.apply_refused > 0) wrong.push(`${server.apply_refused} changes refused`);
  if (server.outbox_refused > 0) wrong.push(`${server.outbox_refused} entries left out`);
  if (server.evicts) wrong.push('an evicting policy: sales may be removed');
  byId('trouble').textContent = wrong.join(' · ');
}

function show(live) {
  const seconds = before ? (live.at_ms - before.at_ms) / 1000 : 0;
  if (before && seconds <= 0) return;
  showServer(live, seconds);
  const earlier = new Map((before ? before.sales : []).map((sale) => [sale.name, sale]));
  const names = new Set(live.sales.map((sale) => sale.name));
  for (const [name, { box }] of cards) {
    if (!names.has(name)) { box.remove(); cards.delete(name); }
  }
  for (const sale of live.sales) showSale(sale, earlier.get(sale.name), seconds);
  // In the order of the answer; a node that is there already only moves.
  const boxes = live.sales.map((sale) => cards.get(sale.name).box);
  const main = byId('sales');
  if (boxes.some((box, at) => main.children[at] !== box)) main.replaceChildren(...boxes);
  before = live;
}

async function look() {
  try {
    const answer = await fetch('/live');
    const live = await answer.json();
    if (answer.ok) show(live); else byId('trouble').textContent = live.error;
  } catch {
    byId('trouble').textContent = 'The exporter does not answer.';
  }
  setTimeout(look, EVERY_MS);
}

look();
