// Entries of an outbox for a worker, delivered by a consumer group.
'use strict';

const { SaleError, Unanswered, decode, text } = require('./words');

const COUNT = 100;

/** Reads pending entries of this name first, then old pending ones of others, then new ones. */
class Reader {
  #call;
  #stream;
  #group;
  #name;
  #idleMs;
  #blockMs;
  /** The last returned one of this name's pending entries; null if none is left. */
  #last = '0';
  /** The cursor of XAUTOCLAIM; null if it is not due. */
  #claim = '0-0';
  #claimedAt = performance.now();
  #given = '0';
  #trimmed = new Set();

  /** `call(words, blockMs)` sends a command and returns its reply as `told`, and the `lost` attempts;
   *  without blockMs it does not block. */
  constructor(call, stream, group, name, idleMs, blockMs) {
    this.#call = call;
    this.#stream = stream;
    this.#group = group;
    this.#name = name;
    this.#idleMs = idleMs;
    this.#blockMs = blockMs;
  }

  async ack(id) {
    await this.#call(['XACK', this.#stream, this.#group, id]);
  }

  /** The next entries, [id, event]; empty if there are none now. */
  async batch() {
    for (;;) {
      try {
        for (const some of [() => this.#pending(), () => this.#left(), () => this.#new()]) {
          const entries = await some();
          if (entries.length > 0) return entries;
        }
        return [];
      } catch (error) {
        if (error instanceof SaleError && error.code === 'NOGROUP') {
          await this.#makeGroup();
        } else if (error instanceof Unanswered && this.#blockMs !== undefined) {
          // Entries of the lost reply are now pending for this name.
          this.#last = this.#given;
        } else {
          throw error;
        }
      }
    }
  }

  async #makeGroup() {
    try {
      await this.#call(['XGROUP', 'CREATE', this.#stream, this.#group, '0', 'MKSTREAM']);
    } catch (error) {
      if (error.code !== 'BUSYGROUP') throw error;
    }
  }

  async #pending() {
    if (this.#last === null) return [];
    const { entries } = await this.#read(this.#last);
    this.#last = entries.at(-1)?.[0] ?? null;
    this.#given = this.#last ?? this.#given;
    entries.filter(([, event]) => event === null).forEach(([id]) => this.#trimmed.add(id));
    return entries;
  }

  async #left() {
    if (this.#claim === null && performance.now() - this.#claimedAt >= this.#idleMs) this.#claim = '0-0';
    while (this.#claim !== null) {
      const words = ['XAUTOCLAIM', this.#stream, this.#group, this.#name, this.#idleMs, this.#claim];
      const { told } = await this.#call([...words, 'COUNT', COUNT]);
      const [cursor, entries, trimmed = []] = told;
      this.#claim = text(cursor) === '0-0' ? null : text(cursor);
      this.#claimedAt = performance.now();
      // Trimmed entries that were pending for this name were already returned.
      const gone = trimmed.map(text).filter((id) => !this.#trimmed.delete(id));
      const found = [...entries.map(entry), ...gone.map((id) => [id, null])];
      if (found.length > 0) return found;
    }
    return [];
  }

  async #new() {
    const { entries, lost } = await this.#read('>', this.#blockMs);
    if (lost > 0) {
      // The entries of the lost reply are pending for this name now, and those of this reply too: they
      // come in their order.
      this.#last = this.#given;
      return this.#pending();
    }
    this.#given = entries.at(-1)?.[0] ?? this.#given;
    return entries;
  }

  async #read(after, blockMs) {
    const block = blockMs === undefined ? [] : ['BLOCK', blockMs];
    const words = ['XREADGROUP', 'GROUP', this.#group, this.#name, 'COUNT', COUNT, ...block];
    const { told, lost } = await this.#call([...words, 'STREAMS', this.#stream, after], blockMs);
    return { entries: streamOf(told).map(entry), lost };
  }
}

/** The entries of the only stream in the reply: a list of pairs, a map, or a flat list. */
function streamOf(reply) {
  if (!reply) return [];
  if (reply instanceof Map) return [...reply.values()][0];
  if (!Array.isArray(reply)) return Object.values(reply)[0];
  return Array.isArray(reply[0]) ? reply[0][1] : reply[1];
}

function entry([id, fields]) {
  try {
    return [text(id), fields ? decode(fields) : null];
  } catch {
    // Another program wrote it: it must not stop the worker.
    return [text(id), null];
  }
}

module.exports = { Reader };
