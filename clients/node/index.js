// Buys from seckill, a Redis module for flash sales, with ioredis or node-redis.
//
// An answer is a value, won or not. SaleError: nothing has happened. Unanswered: nobody knows, so
// ask again with its req, which never takes twice. See docs/clients.md.
'use strict';

const { isUtf8 } = require('node:buffer');
const { randomUUID } = require('node:crypto');
const { setTimeout: sleep } = require('node:timers/promises');
const { crc32 } = require('node:zlib');

const GRANT = ['outcome', 'seq', 'qty', 'state', 'deadline'];
const FIELDS = {
  GRANTED: [...GRANT, 'available'],
  ALREADY: GRANT,
  REPLAY: GRANT,
  OVERLIMIT: ['outcome', 'allowance'],
  SOLDOUT: ['outcome', 'held'],
  SHORT: ['outcome', 'available'],
  NOTOPEN: ['outcome', 'opensIn'],
};
for (const outcome of ['CLOSED', 'PAUSED', 'DENIED', 'BUSY', 'WAITING']) {
  FIELDS[outcome] = ['outcome'];
}
const STATES = ['HELD', 'SOLD', 'CANCELLED', 'EXPIRED', 'REFUNDED', 'NOGRANT'];
for (const state of STATES) FIELDS[state] = ['state', 'seq', 'qty', 'deadline'];
const ROW = ['seq', 'user', 'qty', 'state', 'at', 'deadline', 'req', 'epoch', 'round'];
// Errors that come however often one asks. Others pass, and may hide what was granted before.
const MISTAKES = /^(ERR|WRONGTYPE|NOSALE|REQMISMATCH|AMBIGUOUS|WRONGPART|NOPERM|NOAUTH) /;

/** The server refused the call and nothing has happened; code is the error's first word. */
class SaleError extends Error {
  constructor(cause) {
    super(cause.message, { cause });
    this.code = cause.message.split(' ', 1)[0];
  }
}

/** Nobody knows whether it happened; the same call with this req tells and never repeats it. */
class Unanswered extends Error {
  constructor(req, cause) {
    super(`ask again with the same REQ: ${cause.message}`, { cause });
    this.req = req;
  }
}

/** An id that is not UTF-8 stays a Buffer. */
function text(value) {
  return Buffer.isBuffer(value) && isUtf8(value) ? value.toString() : value;
}

function named(names, values) {
  if (!names || values.length < names.length) throw new TypeError(`not an answer: ${values}`);
  return Object.fromEntries(names.map((name, at) => [name, text(values[at])]));
}

function answer(reply) {
  const word = text(reply[0]);
  const told = { outcome: word, ...named(FIELDS[word], reply) };
  if (!STATES.includes(told.state ?? 'HELD')) throw new TypeError(`not an answer: ${reply}`);
  return { ...told, won: ['HELD', 'SOLD'].includes(told.state) };
}

/** Reads the fields of an outbox entry, an object, a Map or a flat list. What came twice is known
 *  by the id, epoch and rev in its data. */
function decode(fields) {
  let pairs = fields instanceof Map ? [...fields] : Object.entries(fields);
  if (Array.isArray(fields)) {
    pairs = fields.flatMap((name, at) => (at % 2 ? [] : [[name, fields[at + 1]]]));
  }
  const told = Object.fromEntries(pairs.map(([name, value]) => [text(name), text(value)]));
  return { ...told, data: JSON.parse(told.data) };
}

/** The part of a split sale that is this user's, and its key. */
function home(name, parts, user) {
  const part = crc32(user) % parts;
  return { part, key: `${name}:{p${part}}` };
}

/** One sale, over a client of ioredis or node-redis. */
class Sale {
  #client;
  #key;
  #durable;
  #attempts;

  constructor(client, key, { durable, attempts = 5 } = {}) {
    // In calls by name ioredis puts its prefix before the keys of commands that it knows only, and
    // node-redis before none.
    const prefix = client.options?.keyPrefix ?? '';
    this.#client = client;
    this.#key = prefix + key;
    const mark = (client.withTypeMapping ? prefix : '') + durable?.mark;
    this.#durable = durable && { replicas: 1, timeoutMs: 1000, ...durable, mark };
    this.#attempts = attempts;
  }

  /** Asks for units with one REQ for all attempts: the order's, or one that is made here. */
  grab(user, { req = randomUUID(), qty = 1, upto } = {}) {
    // One is what GRAB takes by itself, and a sale that draws amounts takes no other word.
    const units = qty === 1 ? [] : ['QTY', qty];
    return this.#change('GRAB', user, req, upto === undefined ? units : ['UPTO', upto]);
  }

  confirm(user, { req, reclaim = false } = {}) {
    return this.#change('CONFIRM', user, req, reclaim ? ['RECLAIM'] : []);
  }

  cancel(user, { req } = {}) {
    return this.#change('CANCEL', user, req, []);
  }

  extend(user, ms, { req } = {}) {
    return this.#change('EXTEND', user, req, [ms]);
  }

  async status() {
    return (await this.#ask('', JSON.parse, [['SECKILL.STATUS', this.#key, 'JSON']])).told;
  }

  async user(user) {
    const read = ([allowance, admission, rows]) =>
      ({ allowance, admission: text(admission), grants: rows.map((row) => named(ROW, row)) });
    return (await this.#ask('', read, [['SECKILL.USER', this.#key, user]])).told;
  }

  async *winners({ state = 'LIVE', after = 0 } = {}) {
    const read = ([next, rows]) => ({ next, grants: rows.map((row) => named(ROW, row)) });
    do {
      const command = ['SECKILL.WINNERS', this.#key, after, 'COUNT', 1000, 'STATE', state];
      const { told } = await this.#ask('', read, [command]);
      yield* told.grants;
      after = told.next;
    } while (after !== 0);
  }

  async #change(name, user, req, more) {
    const command = [`SECKILL.${name}`, this.#key, user, ...more, ...(req ? ['REQ', req] : [])];
    const { told, lost } = await this.#ask(req, answer, [command]);
    if (!this.#durable || [undefined, 'NOGRANT'].includes(told.state)) return { ...told, req, lost };
    // The repeated call shows that this server has the grant, and the INCR comes after it, so the
    // WAIT is for both. (Alone behind a REPLAY it would wait for nothing.)
    const { mark, replicas, timeoutMs } = this.#durable;
    const commands = [command, ['INCR', mark], ['WAIT', replicas, timeoutMs]];
    const again = await this.#ask(req, answer, commands, 1);
    const isSame = told.seq === again.told.seq && told.state === again.told.state;
    return { ...(isSame ? told : again.told), req, lost, durable: again.replies[2] >= replicas };
  }

  /** Until there is an answer. An error after a lost attempt says nothing of that attempt. */
  async #ask(req, read, commands, lost = 0) {
    let why;
    for (let attempt = 0; attempt < this.#attempts; attempt++) {
      if (attempt) await sleep(50 * attempt);
      try {
        const replies = await this.#send(commands.map((words) =>
          words.map((word) => (Buffer.isBuffer(word) ? word : String(word)))));
        return { told: read(replies[0]), replies, lost };
      } catch (error) {
        if (MISTAKES.test(error.message)) {
          throw lost ? new Unanswered(req, error) : new SaleError(error);
        }
        why = error;
        lost++;
      }
    }
    throw new Unanswered(req, why);
  }

  /** All over one connection, or none of them; strings as Buffers. */
  async #send(commands) {
    if (this.#client.withTypeMapping) {
      const pipe = this.#client.withTypeMapping({ 36: Buffer }).multi();
      commands.forEach((command) => pipe.addCommand(command));
      return pipe.execAsPipeline();
    }
    const pipe = this.#client.pipeline();
    commands.forEach((command) => pipe.callBuffer(...command));
    return (await pipe.exec()).map(([error, reply]) => {
      if (error) throw error;
      return reply;
    });
  }
}

module.exports = { Sale, SaleError, Unanswered, decode, home };
