// The page of `seckill exporter`: asks /live every second for a line of each sale, and /sale for those
// that are open. `?target=` names one of several servers.
'use strict';

const EVERY_MS = 1000;
// A reading that is older than this is shown as stale: slow servers are read every five seconds.
const STALE_MS = 8000;
const UNITS = ['available', 'held', 'sold'];
const COLUMNS = [...UNITS, 'supply', 'rate'];
// Readings of each sale that the page keeps; older ones come from the exporter, fifteen seconds apart.
const POINTS = 600;
const RANGES = { '10 minutes': 600, '1 hour': 3600, '6 hours': 21600 };
// Counters of changes; the others but `attempts` count answers to GRAB.
const CHANGES = ['confirmed', 'cancelled', 'expired', 'refunded', 'reclaimed', 'imported', 'trimmed', 'offers', 'dropped'];
// Written by `make docs`.
const TERMS = [
  'limit', 'grabs', 'hold_ms', 'open_at', 'close_at', 'part',
  'parts', 'waitlist', 'offer_ms', 'overtake', 'numbered',
];
// End.
const query = location.search;
const rows = new Map();
let before = null;
let heardAt = null;

const byId = (id) => document.getElementById(id);
const count = (number) => Math.round(number).toLocaleString('en');
const clock = (ms) => new Date(ms).toLocaleTimeString('en', { hour12: false });

function node(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// A page of 300 lines is only touched where something changed.
function say(where, text) {
  if (where.textContent !== text) where.textContent = text;
}

function duration(ms) {
  const seconds = Math.round(Math.abs(ms) / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

function row(name) {
  const box = node('details');
  box.dataset.sale = name;
  const line = node('summary');
  const parts = { box, state: node('span', 'state'), wrong: node('span', 'wrong'), bar: {}, cells: {},
    points: [] };
  const bar = node('span', 'bar');
  for (const unit of UNITS) bar.append(parts.bar[unit] = node('i', unit));
  line.append(node('span', 'name', name), parts.state, bar);
  for (const column of COLUMNS) {
    const cell = node('span', `n ${column}`);
    cell.dataset.unit = { rate: 'GRAB/s', available: 'left' }[column] || column;
    line.append(parts.cells[column] = cell);
  }
  line.append(parts.wrong);
  box.append(line);
  box.addEventListener('toggle', () => {
    if (box.open) detail(name); else if (parts.more) { parts.more.remove(); parts.more = null; }
  });
  return parts;
}

function showLine(sale, at) {
  if (!rows.has(sale.name)) rows.set(sale.name, row(sale.name));
  const { state, bar, cells, wrong, points } = rows.get(sale.name);
  points.push([at, sale.available, sale.held, sale.sold, sale.attempts]);
  if (points.length > POINTS) points.shift();
  say(state, sale.state);
  state.className = `state ${sale.state}`;
  for (const unit of UNITS) bar[unit].style.width = `${100 * sale[unit] / Math.max(1, sale.supply)}%`;
  for (const column of COLUMNS) say(cells[column], count(sale[column]));
  say(wrong, sale.trouble.join(' · '));
}

// Sales that match search and filters, in the chosen order, with those in trouble on top.
function arrange(sales) {
  const words = byId('search').value.toLowerCase();
  const state = byId('state').value;
  const sort = byId('sort').value;
  const isText = sort === 'name' || sort === 'state';
  const chosen = sales.filter((sale) => sale.name.toLowerCase().includes(words)
    && (!state || (state === 'trouble' ? sale.trouble.length > 0 : sale.state === state)));
  chosen.sort((a, b) => (b.trouble.length > 0) - (a.trouble.length > 0)
    || (isText ? String(a[sort]).localeCompare(String(b[sort])) : b[sort] - a[sort])
    || a.name.localeCompare(b.name));
  say(byId('count'), `${count(chosen.length)} of ${count(sales.length)} sales`);
  const boxes = chosen.map((sale) => rows.get(sale.name).box);
  const main = byId('sales');
  if (boxes.length !== main.children.length || boxes.some((box, at) => main.children[at] !== box)) {
    main.replaceChildren(...boxes);
  }
}

function fields(title, pairs) {
  const list = node('dl');
  for (const [name, value] of pairs) {
    const pair = node('div');
    pair.append(node('dt', '', name), node('dd', '', value));
    list.append(pair);
  }
  const box = node('div');
  box.append(node('h2', '', title), list);
  return box;
}

// Curves over one axis of time, from the left end of what is chosen to now.
function chart(title, classes, points, from, to) {
  const box = node('div');
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const [width, height, left, bottom] = [Math.max(280, Math.min(430, innerWidth - 60)), 176, 52, 20];
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const draw = (name, settings, text) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(settings)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    svg.append(made);
  };
  // Even, as the middle of the axis has a number, too.
  const top = 2 * Math.ceil(Math.max(1, ...points.flatMap((point) => point.slice(1))) / 2);
  const x = (at) => left + (width - left - 8) * (at - from) / Math.max(1, to - from);
  const y = (number) => 10 + (height - bottom - 10) * (1 - number / top);
  for (const part of [0, 0.5, 1]) {
    draw('line', { x1: left, x2: width - 8, y1: y(top * part), y2: y(top * part) });
    draw('text', { x: left - 6, y: y(top * part) + 4, 'text-anchor': 'end' }, count(top * part));
  }
  for (const part of [0, 0.5, 1]) {
    const at = from + (to - from) * part;
    const anchor = ['start', 'middle', 'end'][part * 2];
    draw('text', { x: x(at), y: height - 5, 'text-anchor': anchor }, clock(at));
  }
  classes.forEach((name, at) => {
    const place = (point) => `${x(point[0]).toFixed(1)} ${y(point[at + 1]).toFixed(1)}`;
    if (points.length) draw('path', { class: name, d: `M${points.map(place).join('L')}` });
  });
  const head = node('h2', '', title);
  for (const name of classes.length > 1 ? classes : []) head.append(' ', node('span', name, name));
  box.append(head, svg);
  return box;
}

function curves(sale, seconds) {
  const to = sale.at_ms;
  const { numbers, counters } = sale;
  const now = [to, numbers.available, numbers.held, numbers.sold, counters.attempts];
  const all = [...sale.history, ...rows.get(sale.name).points, now]
    .sort((a, b) => a[0] - b[0]).filter((point, at, list) => !at || point[0] > list[at - 1][0]);
  const from = Math.max(to - 1000 * seconds, all[0][0]);
  const points = all.filter((point) => point[0] >= from);
  const rates = points.slice(1).map((point, at) => {
    const passed = (point[0] - points[at][0]) / 1000;
    return [point[0], Math.max(0, point[4] - points[at][4]) / passed];
  });
  return [
    chart('Units', UNITS, points.map((point) => point.slice(0, 4)), from, to),
    chart('GRAB a second', ['rate'], rates, from, to),
  ];
}

function moment(at, now, past, future) {
  if (!at) return [];
  return [[at > now ? future : past, at > now ? duration(at - now) : `${duration(now - at)} ago`]];
}

function moreOf(sale, seconds) {
  const { numbers: n, counters, words, outbox } = sale;
  const chosen = (names) => names.filter((name) => counters[name] > 0 || name === 'granted')
    .map((name) => [name, count(counters[name])]);
  const answers = Object.keys(counters).filter((name) => name !== 'attempts' && !CHANGES.includes(name));
  const times = [
    ...moment(n.open_at, n.now, 'opened', 'opens in'),
    ...moment(n.close_at, n.now, 'closed', 'closes in'),
    ...moment(n.next_deadline, n.now, 'oldest hold was due', 'oldest hold ends in'),
    ...moment(n.last_grant_at, n.now, 'last grant', 'last grant in'),
    ...moment(n.waiting_since, n.now, 'somebody waits since', 'waits in'),
  ];
  const untimed = TERMS.filter((name) => !/_at$/.test(name));
  const some = [...untimed, 'round', 'packets'].filter((name) => n[name] !== undefined)
    .map((name) => [name, /_ms$/.test(name) && n[name] ? duration(n[name]) : count(n[name])]);
  const groups = outbox ? outbox.groups : [];
  const read = outbox ? [['entries kept', count(outbox.length)]] : [['outbox', 'none']];
  for (const group of groups) {
    read.push([`group ${group.name}`, `${group.consumers} readers, ${count(group.pending)} being written, ${count(group.lag)} to read`]);
  }
  if (outbox && !groups.length) read.push(['readers', 'nobody reads it']);
  return [
    ...curves(sale, seconds),
    fields('Now', [['supply', count(n.supply)], ['deficit', count(n.deficit)],
      ['winners', count(n.winners)], ['grants', count(n.grants)],
      ...(n.waiting === undefined ? [] : [['waiting', count(n.waiting)]]), ...times]),
    fields('Answers to GRAB', chosen(answers)),
    fields('What became of grants', CHANGES.some((name) => counters[name] > 0)
      ? chosen(CHANGES) : [['changes', 'none']]),
    fields('Outbox and its readers', [...(sale.stream ? [['stream', sale.stream]] : []), ...read]),
    fields('Terms', [...some, ['id', words.id || '–']]),
  ];
}

async function detail(name) {
  const parts = rows.get(name);
  if (!parts || !parts.box.open) return;
  const query = new URLSearchParams(location.search);
  query.set('name', name);
  try {
    const answer = await fetch(`/sale?${query}`);
    if (!answer.ok || !parts.box.open) return;
    const sale = await answer.json();
    if (!parts.more) {
      parts.more = node('div', 'more');
      parts.range = node('select');
      for (const range of Object.keys(RANGES)) parts.range.append(node('option', '', range));
      parts.range.addEventListener('change', () => detail(name));
      parts.range.setAttribute('aria-label', 'How far back');
      parts.box.append(parts.more);
    }
    const range = node('div', 'wide');
    range.append(node('h2', '', 'The last'), parts.range);
    const hadFocus = document.activeElement === parts.range;
    // A list that has the focus stays as it is.
    if (hadFocus) parts.more.replaceChildren(parts.more.firstChild, ...moreOf(sale, RANGES[parts.range.value]));
    else parts.more.replaceChildren(range, ...moreOf(sale, RANGES[parts.range.value]));
  } catch {
    // A failed request is shown at the top of the page.
  }
}

function showServer(live, seconds) {
  const { server } = live;
  say(byId('server'), live.target);
  document.title = `seckill ${live.target}`;
  const cpu = before ? 100 * (server.cpu - before.server.cpu) / seconds : 0;
  const memory = (bytes) => `${(bytes / 1048576).toFixed(1)} MiB`;
  const limit = server.memory_max ? ` of ${memory(server.memory_max)}` : '';
  say(byId('numbers'), [
    server.version, server.role, server.module ? `module ${server.module}` : 'no module',
    `CPU ${cpu.toFixed(1)} %`, `memory ${memory(server.memory)}${limit}`,
    `${count(server.clients)} connections`,
  ].join(' · '));
}

function showOthers(live) {
  const others = (live.targets || []).filter((name) => name !== live.target);
  if (byId('others').childElementCount === others.length) return;
  const link = (name) => {
    const made = node('a', '', name);
    made.href = `/?target=${encodeURIComponent(name)}`;
    return [made, ' '];
  };
  byId('others').replaceChildren(...others.flatMap(link));
}

function troubles(live) {
  const wrong = live.trouble ? [live.trouble] : [];
  if (live.server && live.server.apply_refused > 0) wrong.push(`${live.server.apply_refused} changes refused`);
  if (live.server && live.server.outbox_refused > 0) wrong.push(`${live.server.outbox_refused} entries left out`);
  if (live.server && live.server.evicts) wrong.push('an evicting policy: sales may be removed');
  if (live.left_out > 0) wrong.push(`${live.left_out} more sales are not shown (--max-sales)`);
  return wrong;
}

function show(live) {
  const seconds = before ? (live.at_ms - before.at_ms) / 1000 : 0;
  if (before && seconds <= 0) return;
  heardAt = Date.now();
  showServer(live, seconds);
  const earlier = new Map((before ? before.sales : []).map((sale) => [sale.name, sale]));
  for (const sale of live.sales) {
    const last = earlier.get(sale.name);
    sale.rate = last ? Math.max(0, sale.attempts - last.attempts) / seconds : 0;
    showLine(sale, live.at_ms);
  }
  const names = new Set(live.sales.map((sale) => sale.name));
  for (const name of rows.keys()) if (!names.has(name)) rows.delete(name);
  before = live;
  arrange(live.sales);
  for (const [name, { box }] of rows) if (box.open && box.isConnected) detail(name);
}

async function look() {
  let wrong = [];
  try {
    const answer = await fetch(`/live${query}`);
    const live = await answer.json();
    showOthers(live);
    wrong = troubles(live);
    if (answer.ok) show(live); else say(byId('server'), live.target);
  } catch {
    wrong = ['The exporter does not answer.'];
  }
  const age = heardAt === null ? 0 : Date.now() - heardAt;
  const isStale = before !== null && age > STALE_MS;
  if (isStale) wrong.push(`What is shown is of ${clock(heardAt)}, ${duration(age)} ago.`);
  document.body.classList.toggle('stale', isStale);
  say(byId('trouble'), wrong.join(' · '));
  setTimeout(look, EVERY_MS);
}

for (const id of ['search', 'state', 'sort']) {
  byId(id).addEventListener('input', () => before && arrange(before.sales));
}
for (const button of document.querySelectorAll('[data-sort]')) {
  button.addEventListener('click', () => {
    byId('sort').value = button.dataset.sort;
    if (before) arrange(before.sales);
  });
}
byId('metrics').href = query.includes('target=') ? `/scrape${query}` : '/metrics';
look();
