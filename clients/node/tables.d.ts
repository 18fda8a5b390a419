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
/** What each outcome has beside itself. */
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
