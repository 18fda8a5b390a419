// Written from the module's own tables by `make docs`: change those, not this file.
export type State =
  | 'HELD'
  | 'SOLD'
  | 'CANCELLED'
  | 'EXPIRED'
  | 'REFUNDED';
export type Outcome =
  | 'GRANTED'
  | 'ALREADY'
  | 'REPLAY'
  | 'OVERLIMIT'
  | 'SOLDOUT'
  | 'SHORT'
  | 'NOTOPEN'
  | 'CLOSED'
  | 'PAUSED'
  | 'DENIED'
  | 'BUSY'
  | 'WAITING'
  | 'TAKEN';
/** The fields of each outcome. */
export interface Fields {
  GRANTED: {seq: number; qty: number; state: State; deadlineMs: number; available: number};
  ALREADY: {seq: number; qty: number; state: State; deadlineMs: number};
  REPLAY: {seq: number; qty: number; state: State; deadlineMs: number};
  OVERLIMIT: {allowance: number};
  SOLDOUT: {held: number};
  SHORT: {available: number};
  NOTOPEN: {opensInMs: number};
  CLOSED: {};
  PAUSED: {};
  DENIED: {};
  BUSY: {};
  WAITING: {ticket: number; ahead: number; unitsAhead: number};
  TAKEN: {unit: number};
}
/** Numbers and words of an outbox entry. */
export interface EventData {
  id: string;
  epoch: number;
  rev: number;
  t: number;
  supply: number;
  available: number;
  held: number;
  sold: number;
  seq?: number;
  qty?: number;
  state?: string;
  at?: number;
  deadline?: number;
  round?: number;
  born?: number;
  returned?: number;
  delta?: number;
  applied?: number;
  peer?: number;
  total?: number;
  ticket?: number;
  until?: number;
  reason?: string;
  units?: number[];
  limit?: number;
  grabs?: number;
  hold_ms?: number;
  open_at?: number;
  close_at?: number;
  draw?: string;
  every_ms?: number;
  offset_ms?: number;
  lasts_ms?: number;
  carry?: true;
  allowlist?: true;
  mod?: number;
  sample?: number;
  admit?: number;
  mask?: true;
  part?: number;
  parts?: number;
  waitlist?: number;
  offer_ms?: number;
  overtake?: number;
  numbered?: number;
  [more: string]: unknown;
}
