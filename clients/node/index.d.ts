import type { EventData, Fields, Outcome, State } from './tables';

export type { EventData, Outcome, State };

interface Call {
  /** The REQ of the call; empty if it had none. */
  req: Id;
  /** Attempts without a reply. After a refusal one of them may still arrive: cancel. */
  lost: number;
  /** True if the user has the units: state is HELD or SOLD. */
  won: boolean;
  /** Whether enough replicas have the grant; null without `durable`, or without a grant. */
  durable: boolean | null;
}

/** The fields of one outcome. A refusal has no state and is never won. */
type Told<Word extends Outcome> = { outcome: Word } & Fields[Word] &
  (Fields[Word] extends { state: State }
    ? { won: boolean; units: number[] | null }
    : { state?: undefined; won: false; units: null });

type AnyOf<Word extends Outcome> = Word extends Outcome ? Told<Word> : never;

/** A union over all outcomes: a `switch` over `outcome` that lacks one does not compile. */
export type Answer = Call & AnyOf<Outcome>;

/** The grant after the call. */
export interface Settled extends Call {
  outcome: State | 'NOGRANT';
  state: State | 'NOGRANT';
  seq: number;
  qty: number;
  /** Unix ms; 0 for none. */
  deadlineMs: number;
  /** null in a sale without NUMBERED. */
  units: number[] | null;
}

/** The reply to MGRAB: a grant for each sale, or the first refusing sale with its answer. */
export interface MultiAnswer extends Call {
  outcome: 'GRANTED' | 'REPLAY' | 'REFUSED';
  grants: AnyOf<'GRANTED' | 'REPLAY'>[];
  index: number | null;
  refusal: AnyOf<Outcome> | null;
}

/** Ids that are not UTF-8 are Buffers. */
export type Id = string | Buffer;

export interface Row {
  seq: number;
  user: Id;
  qty: number;
  state: State;
  atMs: number;
  deadlineMs: number;
  req: Id | null;
  epoch: number;
  round: number;
  units: number[] | null;
}

export interface Place {
  ticket: number;
  ahead: number;
  unitsAhead: number;
}

/** An entry of the outbox. A repeated entry has an equal id, epoch and rev in its data. */
export interface Event {
  event: string;
  sale: Id;
  user: Id | null;
  req: Id | null;
  outbox: Id | null;
  split: Id | null;
  data: EventData;
}

/** One entry for a worker; call ack after the work. A trimmed entry, or one that another program
 *  wrote, has no event. */
export interface Order {
  id: string;
  event: Event | null;
  ack(): Promise<void>;
}

/** The server refused the call and changed nothing; code is the error's first word. */
export class SaleError extends Error {
  readonly code: string;
}

/** The outcome is unknown. Send the call again with this req: it never takes units twice. */
export class Unanswered extends Error {
  readonly req: Id;
  /** Attempts without a reply. */
  readonly lost: number;
}

export interface Options {
  /** Makes answers say whether this many replicas have the grant; mark is the key of a counter. */
  durable?: { mark: string; replicas?: number; timeoutMs?: number };
  /** Timeout of a call with all its attempts; 2000. */
  timeoutMs?: number;
  /** Most attempts of a call; 5. */
  attempts?: number;
  /** Called after each attempt with the command, the first word of the reply or LOST, the attempts
   *  lost so far, and the milliseconds. Its exceptions are ignored. */
  onAttempt?(name: string, outcome: string, lost: number, ms: number): void;
}

/** A REQ. For null, undefined or an empty one, grab, wait and mgrab make a new one. */
type Req = Id | null;

/** One sale, with a client of ioredis or node-redis, 5 and newer: single, Sentinel or cluster. */
export class Sale {
  constructor(client: object, key: Id, options?: Options);
  /** Asks for units. All attempts have one REQ: the order's, or a new one. */
  grab(
    user: Id,
    options?: { req?: Req } & (
      | { qty?: number; upto?: number }
      /** In a sale with NUMBERED: exactly these numbers, or consecutive ones. */
      | { units: number[] }
      | { qty?: number; adjacent: boolean }
    ),
  ): Promise<Answer>;
  /** Grabs, or joins the waiting list if nothing is left. */
  wait(user: Id, options?: { req?: Req; qty?: number; untilMs?: number }): Promise<Answer>;
  /** keep, here and below: this many units, or the units with these numbers, stay; the others are returned. */
  confirm(user: Id, options?: { req?: Req; reclaim?: boolean; keep?: number | readonly number[] }): Promise<Settled>;
  cancel(user: Id, options?: { req?: Req; keep?: number | readonly number[] }): Promise<Settled>;
  extend(user: Id, ms: number, options?: { req?: Req }): Promise<Settled>;
  refund(user: Id, options?: { req?: Req; keep?: number | readonly number[] }): Promise<Settled>;
  /** Units of this sale and of others in its slot, all or none. qty: one for all sales, or a list. */
  mgrab(user: Id, others: Id[], options?: { req?: Req; qty?: number | number[] }): Promise<MultiAnswer>;
  status(): Promise<Record<string, unknown>>;
  /** A character for each number from the first (1) on, count (1000): '.' free, 'h' held, 's' sold. */
  units(options?: { first?: number; count?: number }): Promise<string>;
  /** The grant that has this number. */
  unit(unit: number): Promise<Row | null>;
  /** An allowance of -1 means no limit. */
  user(user: Id): Promise<{ allowance: number; admission: 'OK' | 'DENIED' | 'BUSY'; grants: Row[] }>;
  /** null: not on the waiting list; `user` shows the user's grants. */
  place(user: Id): Promise<Place | null>;
  winners(options?: { state?: State | 'LIVE' | 'ALL'; after?: number }): AsyncGenerator<Row>;
  /** Entries of this sale's outbox, for a worker. */
  orders(
    stream: Id,
    group: Id,
    name: Id,
    options?: { idleMs?: number; blockMs?: number; follow?: boolean },
  ): AsyncGenerator<Order>;
}

/** Reads a raw reply of GRAB, IMPORT, CONFIRM, CANCEL, EXTEND or REFUND. */
export function answer(reply: unknown[]): AnyOf<Outcome> | Omit<Settled, 'req' | 'lost' | 'durable'>;

/** The user's part of a split sale, and its key. */
export function home(name: string, parts: number, user: Id): { part: number; key: string };

export function decode(fields: object): Event;
