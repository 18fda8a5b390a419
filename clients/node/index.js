// Buys from seckill, a Redis module for flash sales, with ioredis or node-redis.
//
// A call returns an answer, won or not. SaleError: the server refused the call and changed nothing.
// Unanswered: the outcome is unknown, so send the call again with its req, which never takes units
// twice. See docs/clients.md.
'use strict';

const { randomUUID } = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');
const { crc32 } = require('node:zlib');

const { Links, codeOf, passes, slotOf } = require('./links');
const { Reader } = require('./orders');
const { MISTAKES } = require('./tables');
const { SaleError, Unanswered, answer, answers, decode, row, text } = require('./words');

const PAUSE_MS = 50;

function id(name, value, isOptional = false) {
  if (typeof value === 'string' || Buffer.isBuffer(value)) return value;
  if (isOptional && (value === undefined || value === null)) return '';
  throw new TypeError(`${name} must be a string or a Buffer, not ${value === null ? 'null' : typeof value}`);
}

function whole(name, value) {
  if (!Number.isInteger(value)) throw new TypeError(`${name} must be a whole number, not ${value}`);
  return value;
}

/** The default of GRAB is one unit; a sale that draws amounts accepts no QTY. */
function quantity(qty) {
  return (qty ?? 1) === 1 ? [] : ['QTY', whole('qty', qty)];
}

/** The quantity or the numbers, given in exactly one way. */
function asked({ qty, upto, units, adjacent }) {
  const has = (value) => (value ?? null) !== null;
  if (has(units) ? has(qty) || has(upto) || adjacent : has(upto) && adjacent) {
    throw new TypeError('units are asked for in one way: by qty, upto, units or adjacent');
  }
  if (has(units)) {
    if (!Array.isArray(units)) throw new TypeError('units must be an array of numbers');
    return ['UNITS', ...units.map((unit) => whole('units', unit))];
  }
  if (adjacent) return ['QTY', whole('qty', qty ?? 1), 'ADJACENT'];
  return has(upto) ? ['UPTO', whole('upto', upto)] : quantity(qty);
}

/** Arguments for KEEP: a quantity, or unit numbers. */
function part(keep) {
  if (Array.isArray(keep)) return ['KEEP', 'UNITS', ...keep.map((unit) => whole('keep', unit))];
  return (keep ?? null) === null ? [] : ['KEEP', whole('keep', keep)];
}

/** The grants in an answer. */
function grants(told) {
  const each = (told.grants ?? [told]).filter(({ seq, state }) => seq && state);
  return each.map(({ seq, qty, state, deadlineMs, units }) => [seq, qty, state, deadlineMs, units]);
}

/** The user's part of a split sale, and its key. */
function home(name, parts, user) {
  const part = crc32(user) % parts;
  return { part, key: `${name}:{p${part}}` };
}

/** One sale, with a client of ioredis or node-redis. timeoutMs is for a call with all its attempts. */
class Sale {
  #links;
  #key;
  #durable;
  #timeoutMs;
  #attempts;
  #onAttempt;

  constructor(client, key, { durable, timeoutMs = 2000, attempts = 5, onAttempt } = {}) {
    this.#links = Links.of(client);
    this.#key = this.#named(id('key', key));
    if (durable) {
      const mark = this.#named(id('durable.mark', durable.mark));
      if (this.#links.isCluster && slotOf(mark) !== slotOf(this.#key)) {
        throw new TypeError("in a cluster the mark must be in the sale's slot: use {...}");
      }
      this.#durable = { replicas: 1, timeoutMs: 1000, ...durable, mark };
      whole('durable.replicas', this.#durable.replicas);
      whole('durable.timeoutMs', this.#durable.timeoutMs);
    }
    this.#timeoutMs = whole('timeoutMs', timeoutMs);
    this.#attempts = Math.max(whole('attempts', attempts), 1);
    if (onAttempt !== undefined && typeof onAttempt !== 'function') {
      throw new TypeError('onAttempt must be a function');
    }
    this.#onAttempt = onAttempt;
  }

  /** Asks for units. All attempts have one REQ: the order's, or a new one. */
  async grab(user, { req, qty, upto, units, adjacent } = {}) {
    const words = asked({ qty, upto, units, adjacent });
    return this.#change('GRAB', user, id('req', req, true) || randomUUID(), words);
  }

  /** Grabs, or joins the waiting list if nothing is left. */
  async wait(user, { req, qty, untilMs } = {}) {
    const until = (untilMs ?? null) === null ? [] : ['UNTIL', whole('untilMs', untilMs)];
    const words = [...quantity(qty), 'WAIT', ...until];
    return this.#change('GRAB', user, id('req', req, true) || randomUUID(), words);
  }

  async confirm(user, { req, reclaim = false, keep } = {}) {
    return this.#change('CONFIRM', user, req, [...(reclaim ? ['RECLAIM'] : []), ...part(keep)]);
  }

  async cancel(user, { req, keep } = {}) {
    return this.#change('CANCEL', user, req, part(keep));
  }

  async extend(user, ms, { req } = {}) {
    return this.#change('EXTEND', user, req, [whole('ms', ms)]);
  }

  async refund(user, { req, keep } = {}) {
    return this.#change('REFUND', user, req, part(keep));
  }

  /** Units of this sale and of others in its slot, all or none. qty: one for all sales, or a list. */
  async mgrab(user, others, { req, qty } = {}) {
    if (!Array.isArray(others)) throw new TypeError('others must be an array of keys');
    const keys = [this.#key, ...others.map((other) => this.#named(id('a key', other)))];
    const units = Array.isArray(qty) ? ['QTY', ...qty.map((n) => whole('qty', n))] : quantity(qty);
    const named = id('req', req, true) || randomUUID();
    const command = ['SECKILL.MGRAB', id('user', user), keys.length, ...keys, ...units, 'REQ', named];
    return this.#sure('MGRAB', answers, command, named);
  }

  async status() {
    return this.#read('STATUS', JSON.parse, ['JSON']);
  }

  /** A character for each number from the first on: '.' free, 'h' held, 's' sold. */
  async units({ first = 1, count = 1000 } = {}) {
    return this.#read('UNITS', text, [whole('first', first), 'COUNT', whole('count', count)]);
  }

  /** The grant that has this number, or null. */
  async unit(unit) {
    return this.#read('UNIT', (told) => (told ? row(told) : null), [whole('unit', unit)]);
  }

  async user(user) {
    const read = ([allowance, admission, rows]) =>
      ({ allowance, admission: text(admission), grants: rows.map(row) });
    return this.#read('USER', read, [id('user', user)]);
  }

  /** The user's place on the waiting list; null if the user is not on it. */
  async place(user) {
    const read = ([word, ticket, ahead, unitsAhead]) =>
      (text(word) === 'WAITING' ? { ticket, ahead, unitsAhead } : null);
    return this.#read('PLACE', read, [id('user', user)]);
  }

  async *winners({ state = 'LIVE', after = 0 } = {}) {
    const read = ([next, rows]) => ({ next, grants: rows.map(row) });
    do {
      const page = await this.#read('WINNERS', read, [after, 'COUNT', 1000, 'STATE', state]);
      yield* page.grants;
      after = page.next;
    } while (after !== 0);
  }

  /** Entries of this sale's outbox for a worker, each { id, event, ack() }; event is null if it was trimmed. */
  async *orders(stream, group, name, { idleMs = 60_000, blockMs = 1000, follow = true } = {}) {
    const call = (words, waitMs) => this.#ask(words[0], (reply) => reply, '', [words], { waitMs });
    const key = this.#named(id('stream', stream));
    const reader = new Reader(call, key, id('group', group), id('name', name), idleMs,
      follow ? blockMs : undefined);
    for (;;) {
      const entries = await reader.batch();
      for (const [entry, event] of entries) {
        yield { id: entry, event, ack: () => reader.ack(entry) };
      }
      if (entries.length === 0 && !follow) return;
    }
  }

  /** A key with the client's prefix, which neither library adds to unknown commands. */
  #named(key) {
    return this.#links.prefix ? Buffer.concat([Buffer.from(this.#links.prefix), Buffer.from(key)]) : key;
  }

  async #read(name, read, words) {
    return (await this.#ask(name, read, '', [[`SECKILL.${name}`, this.#key, ...words]])).told;
  }

  async #change(name, user, req, more) {
    const named = id('req', req, true);
    const given = named.length > 0 ? ['REQ', named] : [];
    const command = [`SECKILL.${name}`, this.#key, id('user', user), ...more, ...given];
    return this.#sure(name, answer, command, named);
  }

  /** The repeated call shows that this server has the grant, and the INCR comes after it, so the
   *  WAIT covers both. (After a REPLAY, which writes nothing, a WAIT alone would not wait.) */
  async #sure(name, read, command, req) {
    const end = performance.now() + this.#timeoutMs;
    const { told, lost } = await this.#ask(name, read, req, [command], { end });
    const before = grants(told);
    if (!this.#durable || !before.length) return { ...told, req, lost, durable: null };
    const { mark, replicas, timeoutMs } = this.#durable;
    const commands = [command, ['INCR', mark], ['WAIT', replicas, timeoutMs]];
    const again = await this.#ask(name, read, req, commands,
      { waitMs: timeoutMs, lost, happened: true, end });
    const now = grants(again.told);
    const stands = JSON.stringify(now) === JSON.stringify(before) ? told : again.told;
    const durable = now.length ? again.replies[2] >= replicas : null;
    return { ...stands, req, lost: again.lost, durable };
  }

  /** Retries until there is an answer. An error after a lost attempt says nothing about that attempt.
   *  waitMs: for how long the commands may block, if they may. end: when the call's time is over;
   *  waitMs comes on top. */
  async #ask(name, read, req, commands,
    { waitMs, lost = 0, happened = false, end: over = performance.now() + this.#timeoutMs } = {}) {
    const words = commands.map((command) =>
      command.map((word) => (Buffer.isBuffer(word) ? word : String(word))));
    const blocks = waitMs !== undefined;
    const extra = waitMs ?? 0;
    const end = over + extra;
    let why = new Error('no time is left');
    for (let attempt = 0; attempt < this.#attempts; attempt++) {
      if (attempt) await sleep(Math.min(PAUSE_MS * attempt, Math.max(end - performance.now(), 0)));
      const begun = performance.now();
      const left = end - begun;
      if (left <= 0) break;
      const isLast = attempt + 1 === this.#attempts;
      const ms = isLast ? left : Math.min(left, extra + Math.max(left - extra, 0) / 2);
      let [outcome, told, replies] = ['LOST'];
      try {
        replies = await this.#links.send(this.#key, words, ms, blocks);
        why = replies.find((reply) => reply instanceof Error);
        if (why) throw why;
        told = read(replies[0]);
        outcome = told?.outcome ?? 'OK';
      } catch (error) {
        why = error;
        outcome = codeOf(error) ?? 'LOST';
        if (outcome === 'LOST') lost++;
      }
      this.#tell(name, outcome, lost, performance.now() - begun);
      if (!why) return { told, replies, lost };
      const isMoved = ['MOVED', 'ASK'].includes(outcome) && !this.#links.isCluster;
      if ((MISTAKES.includes(outcome) && !passes(why)) || isMoved) {
        throw lost || happened ? new Unanswered(req, lost, why) : new SaleError(why, outcome);
      }
    }
    throw new Unanswered(req, lost, why);
  }

  #tell(name, outcome, lost, ms) {
    // An exception of the listener must not lose the answer, and a rejection not end the program.
    const ignore = () => {};
    try {
      Promise.resolve(this.#onAttempt?.(name, outcome, lost, ms)).catch(ignore);
    } catch {
      ignore();
    }
  }
}

module.exports = { Sale, SaleError, Unanswered, answer, decode, home };
