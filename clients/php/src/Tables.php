<?php

// Written from the module's own tables by `make docs`: change those, not this file.

declare(strict_types=1);

namespace Seckill;

/** @internal */
final class Tables
{
    /** Names of a reply's elements, by its first word. Newer modules may add more. */
    public const FIELDS = [
        'GRANTED' => ['outcome', 'seq', 'qty', 'state', 'deadlineMs', 'available'],
        'ALREADY' => ['outcome', 'seq', 'qty', 'state', 'deadlineMs'],
        'REPLAY' => ['outcome', 'seq', 'qty', 'state', 'deadlineMs'],
        'OVERLIMIT' => ['outcome', 'allowance'],
        'SOLDOUT' => ['outcome', 'held'],
        'SHORT' => ['outcome', 'available'],
        'NOTOPEN' => ['outcome', 'opensInMs'],
        'CLOSED' => ['outcome'],
        'PAUSED' => ['outcome'],
        'DENIED' => ['outcome'],
        'BUSY' => ['outcome'],
        'WAITING' => ['outcome', 'ticket', 'ahead', 'unitsAhead'],
        'TAKEN' => ['outcome', 'unit'],
        'HELD' => ['state', 'seq', 'qty', 'deadlineMs'],
        'SOLD' => ['state', 'seq', 'qty', 'deadlineMs'],
        'CANCELLED' => ['state', 'seq', 'qty', 'deadlineMs'],
        'EXPIRED' => ['state', 'seq', 'qty', 'deadlineMs'],
        'REFUNDED' => ['state', 'seq', 'qty', 'deadlineMs'],
        'NOGRANT' => ['state', 'seq', 'qty', 'deadlineMs'],
    ];
    public const STATES = ['HELD', 'SOLD', 'CANCELLED', 'EXPIRED', 'REFUNDED'];
    public const ROW = ['seq', 'user', 'qty', 'state', 'atMs', 'deadlineMs', 'req', 'epoch', 'round'];
    public const EVENT = ['event', 'sale', 'data', 'user', 'req', 'outbox', 'split'];
    /** First words of errors that a retry can't avoid. */
    public const MISTAKES = [
        'AMBIGUOUS',
        'BUSYGROUP',
        'CROSSSLOT',
        'ERR',
        'NOAUTH',
        'NOGROUP',
        'NOPERM',
        'NOSALE',
        'NOSCRIPT',
        'NOTNUMBERED',
        'REQMISMATCH',
        'SALEEXISTS',
        'WRONGPART',
        'WRONGPASS',
        'WRONGTYPE',
    ];
}
