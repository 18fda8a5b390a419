/** The user has the units if state is HELD or SOLD. */
export type State = 'HELD' | 'SOLD' | 'CANCELLED' | 'EXPIRED' | 'REFUNDED';

interface Call {
  /** What a retry is sent with. */
  req: string;
  /** Attempts without an answer. After a refusal one of them may still arrive: cancel. */
  lost: number;
  won: boolean;
}

interface Grant extends Call {
  seq: number;
  qty: number;
  state: State;
  /** Unix ms, 0: none. */
  deadline: number;
  /** Whether enough replicas have it, if that was asked for. */
  durable?: boolean;
}

interface Refusal<Outcome extends string> extends Call {
  outcome: Outcome;
  won: false;
  state?: undefined;
  durable?: undefined;
}

export type Answer =
  | (Grant & { outcome: 'GRANTED'; available: number })
  | (Grant & { outcome: 'ALREADY' | 'REPLAY' })
  | (Refusal<'OVERLIMIT'> & { allowance: number })
  | (Refusal<'SOLDOUT'> & { held: number })
  | (Refusal<'SHORT'> & { available: number })
  | (Refusal<'NOTOPEN'> & { opensIn: number })
  | Refusal<'CLOSED' | 'PAUSED' | 'DENIED' | 'BUSY' | 'WAITING'>;

/** A grant as it stands after the call; req is undefined if none was given. */
export interface Settled extends Omit<Grant, 'state' | 'req'> {
  outcome: State | 'NOGRANT';
  state: State | 'NOGRANT';
  req?: string;
}

/** Ids that are not UTF-8 are Buffers. */
export type Id = string | Buffer;

export interface Row {
  seq: number;
  user: Id;
  qty: number;
  state: State;
  at: number;
  deadline: number;
  req: Id | null;
  epoch: number;
  round: number;
}

/** An entry of the outbox. What came twice is known by the id, epoch and rev in its data. */
export interface Event {
  event: string;
  sale: Id;
  user?: Id;
  req?: Id;
  outbox?: Id;
  split?: Id;
  data: {
    id: string;
    epoch: number;
    rev: number;
    t: number;
    supply: number;
    available: number;
    held: number;
    sold: number;
    [more: string]: unknown;
  };
}

/** The server refused the call and nothing has happened; code is the error's first word. */
export class SaleError extends Error {
  readonly code: string;
}

/** Nobody knows whether it happened; the same call with this req tells and never repeats it. */
export class Unanswered extends Error {
  readonly req: string | undefined;
}

export interface Options {
  /** Answers say whether so many replicas have the grant; mark is a counter on the sale's node. */
  durable?: { mark: string; replicas?: number; timeoutMs?: number };
  attempts?: number;
}

/** One sale, over a client of ioredis or node-redis. */
export class Sale {
  constructor(client: object, key: string, options?: Options);
  /** Asks for units with one REQ for all attempts: the order's, or one that is made here. */
  grab(user: Id, options?: { req?: string; qty?: number; upto?: number }): Promise<Answer>;
  confirm(user: Id, options?: { req?: string; reclaim?: boolean }): Promise<Settled>;
  cancel(user: Id, options?: { req?: string }): Promise<Settled>;
  extend(user: Id, ms: number, options?: { req?: string }): Promise<Settled>;
  status(): Promise<Record<string, unknown>>;
  /** An allowance of -1 is no limit. */
  user(user: Id): Promise<{ allowance: number; admission: 'OK' | 'DENIED' | 'BUSY'; grants: Row[] }>;
  winners(options?: { state?: State | 'LIVE' | 'ALL'; after?: number }): AsyncGenerator<Row>;
}

/** The part of a split sale that is this user's, and its key. */
export function home(name: string, parts: number, user: Id): { part: number; key: string };

export function decode(fields: object): Event;
