// The countdown by the sale's clock, the button, and the operator's live table.
'use strict';

const byId = (id) => document.getElementById(id);
const post = async (url, fields) => {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
  return answer.json();
};

function showSale(box) {
  const { item, csrf } = box.dataset;
  let order = box.dataset.order;
  let state = { state: 'none' };
  // What to add to this browser's clock, which may be wrong, to have the sale's.
  let ahead = 0;
  let asking = false;

  async function look() {
    asking = true;
    const asked = performance.now();
    try {
      const answer = await fetch(`/state.php?item=${item}`);
      if (!answer.ok) return;
      state = await answer.json();
    } finally {
      asking = false;
    }
    // The answer was made in the middle of the way, as far as one can know.
    ahead = state.now - (asked + performance.now()) / 2;
    const { available, held, sold, supply } = state;
    byId('stock').textContent = state.state === 'none' ? state.say
      : `剩余 ${available} / ${supply}，待付款 ${held}，已售 ${sold}`;
  }

  function tick() {
    const left = state.state === 'none' ? 0 : state.open_at - (performance.now() + ahead);
    const rounded = Math.max(left, 0) + 999;
    const days = Math.floor(rounded / 86_400_000);
    const clock = `${days > 0 ? `${days} 天 ` : ''}${new Date(rounded).toISOString().slice(11, 19)}`;
    if (left <= 0 && state.state === 'pending' && !asking) look();
    byId('clock').textContent = left > 0 ? `距离开始 ${clock}` : (SAY[state.state] ?? '');
  }

  // The button stays alive: pressed twice it sends the same order twice, which takes one unit.
  async function grab() {
    try {
      const told = await post('/grab.php', { item, csrf, order });
      byId('answer').textContent = told.say;
      byId('answer').dataset.code = told.code;
      if (told.order === undefined) return;
      byId('pay').hidden = !told.pay;
      order = told.order;
    } catch {
      byId('answer').textContent = '活动火爆，请再点一次，不会重复下单';
      return;
    }
    look();
  }

  byId('grab')?.addEventListener('click', grab);
  setInterval(tick, 100);
  // Not all at the same moment.
  setInterval(look, 2000 + Math.random() * 1000);
  look();
}

const SAY = {
  pending: '即将开始', open: '正在抢购', allheld: '全部待付款，可能放出', soldout: '已抢光', paused: '暂停中', closed: '已结束',
};

function showLive(table) {
  async function look() {
    const all = await (await fetch('/operator.php?live')).json();
    for (const row of table.querySelectorAll('tr[data-item]')) {
      const s = all[row.dataset.item];
      const shown = s === null ? ['未发布'] : [SAY[s.state], s.supply, s.available, s.held, s.sold,
        s.counters.attempts, s.counters.soldout, s.counters.expired];
      shown.forEach((value, at) => { row.cells[at + 1].textContent = value; });
    }
  }
  byId('work').addEventListener('submit', async (event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    fields.append('work', event.submitter.value);
    byId('done').textContent = (await post('/operator.php', fields)).say;
    await look();
  });
  setInterval(look, 500);
  look();
}

if (byId('sale')) showSale(byId('sale'));
if (byId('live')) showLive(byId('live'));
