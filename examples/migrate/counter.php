<?php

// A counter: GET and DECR, DECR and INCR, or one that counts up (INCR, or SET n+1).
//
//   php counter.php --old HOST:PORT --counter goods --counts down|--counts-up-to 100
//       --new HOST:PORT --sale sale:goods [--total 100 [--sold 99]] [--buyers FILE|--winners KEY]
//       [--terms 'LIMIT 1'] [--open no] [--add yes] [--late N] [--back yes]
//
// --total and --sold (the orders that you counted), or --total and --buyers with all orders, replace the counter's
// value. That is needed if it is written with SET, or if DECR took it below zero. --buyers lists the buyers as
// user,order[,quantity[,Unix ms]]; their units come in addition to the remaining ones. --winners is a hash, a set, a
// sorted set or a list of users: each counts as one unit, so --total needs --sold beside it. --late N: the old program
// has sold N units since the move; they are withdrawn, and the counter is set to "sold out" again.

require __DIR__ . '/stock.php';

$carry = Carry::fromOptions(['counter'], ['counts', 'counts-up-to', 'total', 'sold', 'buyers', 'winners', 'late']);
$upTo = (int) $carry->option('counts-up-to');
// 0 means "sold out" for a counter that counts down, and "nothing sold" for one that counts up.
($upTo > 0) === ($carry->option('counts') === 'down') && Carry::fail(
    'say --counts down (it is what is left) or --counts-up-to TOTAL (it is what is sold)'
);
carryStock($carry, $upTo, null);
