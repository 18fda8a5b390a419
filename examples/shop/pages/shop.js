// The countdown by the sale's clock, the button, and the operator's live table.
'use strict';

const byId = (id) => document.getElementById(id);
const post = async (url, fields) => {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
  return answer.json();
};

function showSale(box) {
  const { item, csrf } = box.dataset;
  const words = JSON.parse(box.dataset.words);
  const button = byId('grab');
  let order = box.dataset.order;
  let state = { state: 'none', say: '' };
  // What to add to this browser's clock, which may be wrong, to have the sale's.
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
    // The answer was made in the middle of the way, as far as one can know.
    ahead = state.now - (asked + performance.now()) / 2;
    byId('stock').textContent = state.stock;
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

  // It looks as things are, and stays alive: pressed twice it sends the same order twice, which takes one
  // unit, and pressed after the end it may find one that came back.
  function showButton(before) {
    const over = ['allheld', 'soldout', 'closed'].includes(state.state);
    const look = asking > 0 ? 'asking' : before || state.state === 'none' ? 'before' : over ? 'over' : 'now';
    if (button.dataset.look === look) return;
    button.dataset.look = look;
    button.textContent = words[look];
  }

  async function grab() {
    asking += 1;
    try {
      const told = await post('/grab.php', { item, csrf, order });
      byId('answer').textContent = told.say;
      byId('answer').dataset.code = told.code;
      if (told.order === undefined) return;
      byId('pay').hidden = !told.pay;
      button.hidden = told.won;
      order = told.order;
    } catch {
      byId('answer').textContent = words.again;
      return;
    } finally {
      asking -= 1;
    }
    look();
  }

  button?.addEventListener('click', grab);
  setInterval(tick, 100);
  // Not all at the same moment.
  setInterval(look, 2000 + Math.random() * 1000);
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
    // Not answered, it keeps its number: the same restock may be sent again.
    form.elements.restock.value = told.restock ?? form.elements.restock.value;
    await look();
  });
  setInterval(look, 500);
  look();
}

if (byId('sale')) showSale(byId('sale'));
if (byId('live')) showLive(byId('live'));
byId('bill')?.submit();
