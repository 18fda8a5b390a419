<?php

// A counter: GET and DECR, DECR and INCR, or one that counts up (INCR, or SET n+1).
//
//   php counter.php --old HOST:PORT --counter goods --counts down|--counts-up-to 100
//       --new HOST:PORT --sale sale:goods [--total 100 [--sold 99]] [--buyers FILE]
//       [--terms 'LIMIT 1'] [--open no] [--add yes] [--late N] [--back yes]
//
// With --total and --sold, the orders that you have counted (or --buyers with all of them), what the counter says does not matter:
// one that is written with SET, or that DECR took below zero, does not know what is left. --buyers has
// those who bought, user,order[,quantity[,Unix ms]]; their units come on top of what is left. --late N: the old
// program has sold N since; they are taken out of the sale, and the counter says again that all is sold.

require __DIR__ . '/stock.php';

$carry = Carry::fromOptions(['counter'], ['counts', 'counts-up-to', 'total', 'sold', 'buyers', 'winners', 'late']);
$upTo = (int) $carry->option('counts-up-to');
// The same value means "sold out" for a counter that counts down, and "nothing sold" for one that counts up.
($upTo > 0) === ($carry->option('counts') === 'down') && Carry::fail(
    'say --counts down (it is what is left) or --counts-up-to TOTAL (it is what is sold)'
);
carryStock($carry, $upTo, null);
