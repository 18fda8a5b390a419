<?php

// A lock for the stock: SETNX, SET NX EX, Redlock, Laravel's Cache::lock. The stock is a counter. The lock stays
// locked, so that the old program can't start any more.
//
//   php locks.php --old HOST:PORT --counter goods --lock lock:goods --new HOST:PORT --sale sale:goods
//       [--total 100 --sold 99] [--buyers FILE|--winners KEY] [--terms 'LIMIT 1 HOLD 900000'] [--open no] [--add yes]
//       [--late N] [--back yes]
//
// A request that held the lock during the move continues and makes the counter negative. So run this again after the
// longest lease: it withdraws these units. --buyers and --winners as in counter.php.

require __DIR__ . '/stock.php';

$carry = Carry::fromOptions(['counter', 'lock'], ['total', 'sold', 'buyers', 'winners', 'late']);
$lock = $carry->option('lock');
// The lock's key is overwritten, so it must not be the stock's.
$lock !== $carry->option('counter') || Carry::fail('the lock is the stock itself: carry it with counter.php');
carryStock($carry, 0, $lock);
