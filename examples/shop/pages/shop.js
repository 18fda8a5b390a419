// The countdown by the sale's clock, the button, the seat map, and the operator's table.
'use strict';

const byId = (id) => document.getElementById(id);
const post = async (url, fields) => {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
  return answer.json();
};

// Largest age of the map: a seat that this browser just took may be shown free for this long.
const BEHIND_MS = 5000;

// Paints the map. `map.chosen` are the chosen numbers; `changed(lost)` is called when they change. `lost` is the name
// of a seat that another buyer has taken.
function seatMap(box, most, changed) {
  const seats = [...box.querySelectorAll('button')];
  // The time since which each seat is this browser's.
  const mine = new Map(JSON.parse(box.dataset.mine).map((unit) => [unit, performance.now()]));
  const map = { chosen: new Set(), stands: [] };

  const lookOf = (unit) => {
    if (mine.has(unit)) return 'mine';
    if (map.chosen.has(unit)) return 'chosen';
    return { '.': 'free', h: 'held', s: 'sold' }[map.stands[unit - 1]] ?? 'none';
  };
  function paint() {
    let lost;
    for (const seat of seats) {
      const unit = +seat.dataset.unit;
      const isFree = map.stands[unit - 1] === '.';
      if (isFree && performance.now() - (mine.get(unit) ?? Infinity) > BEHIND_MS) mine.delete(unit);
      if ((!isFree || mine.has(unit)) && map.chosen.delete(unit) && !mine.has(unit)) lost = seat.ariaLabel;
      seat.dataset.look = lookOf(unit);
      seat.disabled = !['free', 'chosen'].includes(seat.dataset.look) || most === 0;
      seat.ariaPressed = map.chosen.has(unit);
    }
    changed?.(lost);
  }
  map.show = (stands) => {
    map.stands = [...stands];
    paint();
  };
  // A seat's state in an answer is newer than the map's.
  map.take = (units, state) => {
    for (const unit of units) {
      map.stands[unit - 1] = state;
      if (state === 'h') mine.set(unit, performance.now());
    }
    paint();
  };
  map.named = () => seats.filter((seat) => map.chosen.has(+seat.dataset.unit)).map((seat) => seat.ariaLabel);
  box.addEventListener('click', (event) => {
    const unit = +(event.target.dataset.unit ?? 0);
    if (unit === 0 || most === 0) return;
    if (!map.chosen.delete(unit)) map.chosen.add(unit);
    // Too many seats: the first chosen one is dropped.
    if (map.chosen.size > most) map.chosen.delete([...map.chosen][0]);
    paint();
  });
  return map;
}

// Shows each change of the map from the event stream. Without a stream `isLive` is false and the page polls.
function follow(item, show) {
  const watch = { isLive: false };
  const begin = () => {
    const source = new EventSource(`/stock/sale:${item}?units=1`);
    source.onmessage = (event) => {
      const { units } = JSON.parse(event.data);
      watch.isLive = units !== null;
      if (watch.isLive) show(units);
    };
    source.onerror = () => {
      watch.isLive = false;
      // A browser retries by itself, but not after an answer other than a stream.
      if (source.readyState === EventSource.CLOSED) setTimeout(begin, 10_000 + Math.random() * 10_000);
    };
  };
  begin();
  return watch;
}

function showSale(box) {
  const { item, csrf } = box.dataset;
  const words = JSON.parse(box.dataset.words);
  const button = byId('grab');
  const together = byId('together');
  const map = byId('hall') && seatMap(byId('hall'), button ? byId('count').options.length : 0, choice);
  const watch = map && follow(item, map.show);
  let order = box.dataset.order;
  let state = { state: 'none', say: '' };
  // Milliseconds between the sale's clock and this browser's, which may be wrong.
  let ahead = 0;
  let looking = false;
  let asking = 0;

  async function look() {
    looking = true;
    const asked = performance.now();
    try {
      const answer = await fetch(`/state.php?item=${item}`);
      if (!answer.ok) return;
      state = await answer.json();
    } catch {
      return;
    } finally {
      looking = false;
    }
    // Estimate: the server read its clock in the middle between request and answer.
    ahead = state.now - (asked + performance.now()) / 2;
    byId('stock').textContent = state.stock;
    if (map) map.show(state.units ?? '');
  }

  function choice(lost) {
    if (lost) byId('answer').textContent = `${lost}${words.gone}`;
    byId('chosen').textContent = map?.named().join(words.comma) || words.choose;
  }

  function tick() {
    const left = state.state === 'none' ? 0 : state.open_at - (performance.now() + ahead);
    const rounded = Math.max(left, 0) + 999;
    const days = Math.floor(rounded / 86_400_000);
    const clock = `${days > 0 ? `${days} ${words.days} ` : ''}${new Date(rounded).toISOString().slice(11, 19)}`;
    if (left <= 0 && state.state === 'pending' && !looking) look();
    byId('clock').textContent = left > 0 ? `${words.left} ${clock}` : state.say;
    if (button) showButton(left > 0);
  }

  // The button shows the sale's state and can always be pressed. Two clicks send one order twice, which takes one
  // unit. A click after the end may get a unit that came back.
  function showButton(before) {
    const over = ['allheld', 'soldout', 'closed'].includes(state.state);
    const look = asking > 0 ? 'asking' : before || state.state === 'none' ? 'before' : over ? 'over' : 'now';
    if (button.dataset.look === look) return;
    button.dataset.look = look;
    button.textContent = words[look];
  }

  async function grab(wanted) {
    if (map && wanted.units === '') {
      byId('answer').textContent = words.choose;
      return;
    }
    asking += 1;
    try {
      const told = await post('/grab.php', { item, csrf, order, ...wanted });
      byId('answer').textContent = told.say;
      byId('answer').dataset.code = told.code;
      if (told.order === undefined) return;
      order = told.order;
      if (map && told.taken) map.take([told.taken], 's');
      if (map && told.won) map.take(told.units, 'h');
      // Another order of this user may be unpaid.
      if (map && !told.won) return;
      byId('pay').hidden = !told.pay;
      byId('pay').elements.order.value = told.held ?? '';
      button.hidden = told.won && !map;
    } catch {
      byId('answer').textContent = words.again;
      return;
    } finally {
      asking -= 1;
    }
    look();
  }

  button?.addEventListener('click', () => grab(map ? { units: [...map.chosen].sort((a, b) => a - b).join(' ') } : {}));
  together?.addEventListener('click', () => grab({ together: byId('count').value }));
  setInterval(tick, 100);
  // Random, so that browsers don't poll together. With an event stream the page polls seldom, for state and clock.
  let rest = 0;
  setInterval(() => {
    rest = watch?.isLive && rest < 9 ? rest + 1 : 0;
    if (rest === 0) look();
  }, 2000 + Math.random() * 1000);
  look();
}

function showLive(table) {
  async function look() {
    const answer = await fetch('/operator.php?live');
    if (!answer.ok) return;
    const all = await answer.json();
    for (const row of table.querySelectorAll('tr[data-item]')) {
      const shown = all[row.dataset.item];
      for (let at = 1; at < row.cells.length; at += 1) row.cells[at].textContent = shown[at - 1] ?? '';
    }
  }
  byId('work').addEventListener('submit', async (event) => {
    event.preventDefault();
    const form = event.target;
    const fields = new FormData(form);
    fields.append('work', event.submitter.value);
    byId('done').textContent = '…';
    const told = await post('/operator.php', fields);
    byId('done').textContent = told.say;
    // Without an answer the number stays, so that this restock can be repeated.
    form.elements.restock.value = told.restock ?? form.elements.restock.value;
    await look();
  });
  setInterval(look, 500);
  look();
  const map = seatMap(byId('hall'), 0);
  follow(byId('hall').dataset.item, map.show);
}

if (byId('sale')) showSale(byId('sale'));
if (byId('live')) showLive(byId('live'));
byId('bill')?.submit();
