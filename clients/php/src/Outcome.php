<?php

// Written from the module's own tables by `make docs`: change those, not this file.

declare(strict_types=1);

namespace Seckill;

/** The first word of a reply: the outcome of a grab, or the state of a grant. */
enum Outcome: string
{
    case Granted = 'GRANTED';
    case Already = 'ALREADY';
    case Replay = 'REPLAY';
    case Overlimit = 'OVERLIMIT';
    case Soldout = 'SOLDOUT';
    case Short = 'SHORT';
    case Notopen = 'NOTOPEN';
    case Closed = 'CLOSED';
    case Paused = 'PAUSED';
    case Denied = 'DENIED';
    case Busy = 'BUSY';
    case Waiting = 'WAITING';
    case Taken = 'TAKEN';
    case Held = 'HELD';
    case Sold = 'SOLD';
    case Cancelled = 'CANCELLED';
    case Expired = 'EXPIRED';
    case Refunded = 'REFUNDED';
    case Nogrant = 'NOGRANT';
}
