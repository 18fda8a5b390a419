import type { EventData, Fields, Outcome, State } from './tables';

export type { EventData, Outcome, State };

interface Call {
  /** The REQ of the call; empty where the call had none. */
  req: Id;
  /** Attempts without a reply. After a refusal one of them may still arrive: cancel. */
  lost: number;
  /** The user has the units: state is HELD or SOLD. */
  won: boolean;
  /** Whether enough replicas have it; null where that was not asked for, or there is no grant. */
  durable: boolean | null;
}

/** Fields of one outcome. A refusal has no state and is never won. */
type Told<Word extends Outcome> = { outcome: Word } & Fields[Word] &
  (Fields[Word] extends { state: State }
    ? { won: boolean; units: number[] | null }
    : { state?: undefined; won: false; units: null });

type AnyOf<Word extends Outcome> = Word extends Outcome ? Told<Word> : never;

/** A union over all outcomes: a `switch` over `outcome` that leaves one out does not compile. */
export type Answer = Call & AnyOf<Outcome>;

/** A grant as it stands after the call. */
export interface Settled extends Call {
  outcome: State | 'NOGRANT';
  state: State | 'NOGRANT';
  seq: number;
  qty: number;
  /** Unix ms, 0: none. */
  deadlineMs: number;
  /** null: not a sale with NUMBERED. */
  units: number[] | null;
}

/** The reply to MGRAB: a grant for each sale, or the first sale that refused, and why. */
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

/** An entry of the outbox. What came twice is known by the id, epoch and rev in its data. */
export interface Event {
  event: string;
  sale: Id;
  user: Id | null;
  req: Id | null;
  outbox: Id | null;
  split: Id | null;
  data: EventData;
}

/** One entry for a worker; ack when it is done. No event: it was trimmed before it was read. */
export interface Order {
  id: string;
  event: Event | null;
  ack(): Promise<void>;
}

/** The server refused the call and nothing has happened; code is the error's first word. */
export class SaleError extends Error {
  readonly code: string;
}

/** The outcome is unknown; sending the call again with this req tells it, and takes nothing twice. */
export class Unanswered extends Error {
  readonly req: Id;
  /** Attempts that had no reply. */
  readonly lost: number;
}

export interface Options {
  /** Answers say whether this many replicas have the grant; mark is a counter beside the sale. */
  durable?: { mark: string; replicas?: number; timeoutMs?: number };
  /** For a call with all its attempts; 2000. */
  timeoutMs?: number;
  /** 5. */
  attempts?: number;
  /** After each attempt: the command, the first word that came or LOST, attempts lost so far, how
   *  long it took. What it throws is ignored. */
  onAttempt?(name: string, outcome: string, lost: number, ms: number): void;
}

/** A REQ: null, undefined and empty are made by grab, wait and mgrab. */
type Req = Id | null;

/** One sale, over a client of ioredis or node-redis, 5 and newer: single, Sentinel or cluster. */
export class Sale {
  constructor(client: object, key: Id, options?: Options);
  /** Asks for units with one REQ for all attempts: the order's, or one that is made here. */
  grab(
    user: Id,
    options?: { req?: Req } & (
      | { qty?: number; upto?: number }
      /** In a sale with NUMBERED: exactly these numbers, or adjacent ones. */
      | { units: number[] }
      | { qty?: number; adjacent: boolean }
    ),
  ): Promise<Answer>;
  /** Grabs, or joins the waiting list if nothing is left. */
  wait(user: Id, options?: { req?: Req; qty?: number; untilMs?: number }): Promise<Answer>;
  /** keep, here and below: this many units are left of the grant, or those with these numbers; the others are given back. */
  confirm(user: Id, options?: { req?: Req; reclaim?: boolean; keep?: number | readonly number[] }): Promise<Settled>;
  cancel(user: Id, options?: { req?: Req; keep?: number | readonly number[] }): Promise<Settled>;
  extend(user: Id, ms: number, options?: { req?: Req }): Promise<Settled>;
  refund(user: Id, options?: { req?: Req; keep?: number | readonly number[] }): Promise<Settled>;
  /** Units of this sale and of others in its slot, all or none. qty: one for all, or each. */
  mgrab(user: Id, others: Id[], options?: { req?: Req; qty?: number | number[] }): Promise<MultiAnswer>;
  status(): Promise<Record<string, unknown>>;
  /** A character for each number from the first (1) on, count (1000): '.' free, 'h' held, 's' sold. */
  units(options?: { first?: number; count?: number }): Promise<string>;
  /** The grant that has this number. */
  unit(unit: number): Promise<Row | null>;
  /** An allowance of -1 is no limit. */
  user(user: Id): Promise<{ allowance: number; admission: 'OK' | 'DENIED' | 'BUSY'; grants: Row[] }>;
  /** null: not on the waiting list, so ask `user`. */
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

/** The part of a split sale that is this user's, and its key. */
export function home(name: string, parts: number, user: Id): { part: number; key: string };

export function decode(fields: object): Event;
