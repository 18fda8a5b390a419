// Parses replies and entries.
'use strict';

const { isUtf8 } = require('node:buffer');

const { EVENT, FIELDS, ROW, STATES } = require('./tables');

/** The server refused the call and changed nothing; code is the error's first word. */
class SaleError extends Error {
  constructor(cause, code) {
    super(cause.message, { cause });
    this.code = code;
  }
}

/** The outcome is unknown. Send the call again with this req: it never takes units twice. */
class Unanswered extends Error {
  constructor(req, lost, cause) {
    super(`ask again with the same REQ: ${cause.message}`, { cause });
    this.req = req;
    this.lost = lost;
  }
}

/** An id that is not UTF-8 stays a Buffer. */
function text(value) {
  return Buffer.isBuffer(value) && isUtf8(value) ? value.toString() : value;
}

/** Names the values. There may be more values than names, but not fewer. */
function named(names, values) {
  if (!names || values.length < names.length) throw new Error(`not an answer: ${values}`);
  // In a sale with NUMBERED the grant's numbers follow.
  const units = Array.isArray(values[names.length]) ? values[names.length] : null;
  return { ...Object.fromEntries(names.map((name, at) => [name, text(values[at])])), units };
}

function stands(told, reply) {
  if (![...STATES, 'NOGRANT'].includes(told.state ?? 'HELD')) throw new Error(`not an answer: ${reply}`);
  return { ...told, won: ['HELD', 'SOLD'].includes(told.state) };
}

/** Reads a raw reply of GRAB, IMPORT, CONFIRM, CANCEL, EXTEND or REFUND. */
function answer(reply) {
  const word = text(reply[0]);
  return stands({ outcome: word, ...named(FIELDS[word], reply) }, reply);
}

/** Reads a raw reply of MGRAB. */
function answers([first, ...rest]) {
  const outcome = text(first);
  if (outcome === 'REFUSED') {
    return { outcome, won: false, grants: [], index: rest[0], refusal: answer(rest[1]) };
  }
  const names = FIELDS[outcome]?.slice(1);
  const grants = rest.map((row) => stands({ outcome, ...named(names, row) }, row));
  const won = grants.length > 0 && grants.every((grant) => grant.won);
  return { outcome, won, grants, index: null, refusal: null };
}

const row = (reply) => named(ROW, reply);

/** Reads the fields of an outbox entry: an object, a Map or a flat list. A repeated entry has an
 *  equal id, epoch and rev in its data. Throws if it is no entry of a sale. */
function decode(fields) {
  let pairs = fields instanceof Map ? [...fields] : Object.entries(fields);
  if (Array.isArray(fields)) {
    pairs = fields.flatMap((name, at) => (at % 2 ? [] : [[name, fields[at + 1]]]));
  }
  const told = Object.fromEntries(pairs.map(([name, value]) => [text(name), text(value)]));
  const event = Object.fromEntries(EVENT.map((name) => [name, told[name] ?? null]));
  const data = JSON.parse(told.data);
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
  if (event.event === null || event.sale === null || !isObject) throw new Error('not an entry of a sale');
  return { ...event, data };
}

module.exports = { SaleError, Unanswered, answer, answers, decode, row, text };
