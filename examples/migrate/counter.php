<?php

// A counter: GET and DECR, DECR and INCR, or one that counts up (INCR).
//
//   php counter.php --old HOST:PORT --counter goods --new HOST:PORT --sale sale:goods
//       [--counts-up-to 100] [--total 100 --sold 99] [--terms 'LIMIT 1'] [--open no] [--back yes]
//
// With --total and --sold, the orders that you have counted, what the counter says does not matter:
// one that is written with SET, or that DECR took below zero, does not know what is left.

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['counter'], ['counts-up-to', 'total', 'sold']);
$counter = $carry->option('counter');
$upTo = (int) $carry->option('counts-up-to');
$total = $carry->option('total');
$sold = $carry->option('sold');
($total === '') === ($sold === '') || Carry::fail('--total and --sold go together');
$left = fn (int $value) => $upTo > 0 ? $upTo - $value : $value;

if ($carry->isBack()) {
    if ($upTo > 0 && $carry->status()['supply'] > $upTo) {
        Carry::fail("the sale has more units than the counter counts: are they coins, and the counter's packets?");
    }
    $value = $left($carry->takeBack());
    $carry->giveBack(fn ($old) => $old->set($counter, (string) $value) && $old->del("$counter:moved"));
    exit;
}
// What it says when everything is sold: 0, or all of them.
$instead = (string) $upTo;
$aside = $carry->putAside($counter, $instead);
$units = $sold === '' ? $left((int) $carry->old->get($aside)) : (int) $total - (int) $sold;
$carry->open(max(0, $units));
$carry->start();
if ($units < 0 && $sold === '') {
    echo 'below zero by ', -$units, ': the sale has 0 units. A program that looks before it takes has oversold ',
        "by so many; one that takes first has not, and may have units left: count your orders\n";
} elseif ($units < 0) {
    echo 'oversold: ', -$units, " more were told that they had won than there were\n";
}
$now = $carry->old->get($counter);
if ($now !== $instead) {
    echo "late: the old program wrote $counter since, $instead became $now: take its page off, count its orders\n";
}
