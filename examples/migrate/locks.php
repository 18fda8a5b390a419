<?php

// A lock around the stock: SETNX, SET NX EX, Redlock, Laravel's Cache::lock. The stock is a
// counter below it. The lock stays locked, so that the old program can't begin any more.
//
//   php locks.php --old HOST:PORT --counter goods --lock lock:goods --new HOST:PORT --sale sale:goods
//       [--total 100 --sold 99] [--buyers FILE] [--terms 'LIMIT 1 HOLD 900000'] [--open no] [--add yes]
//       [--late N] [--back yes]
//
// A buyer that was inside when their lock was taken goes on, and makes the counter negative. Run this again after the
// longest lease: it takes these units out of the sale. --buyers as in counter.php.

require __DIR__ . '/stock.php';

$carry = Carry::fromOptions(['counter', 'lock'], ['total', 'sold', 'buyers', 'winners', 'late']);
$lock = $carry->option('lock');
// The lock is overwritten: it would take the stock with it.
$lock !== $carry->option('counter') || Carry::fail('the lock is the stock itself: carry it with counter.php');
carryStock($carry, 0, $lock);
