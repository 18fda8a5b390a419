<?php

// A counter: GET and DECR, DECR and INCR, or one that counts up (INCR, GET and SET n+1).
//
//   php counter.php --old HOST:PORT --counter goods --new HOST:PORT --sale sale:goods
//       [--counts-up-to 100] [--terms 'LIMIT 1 HOLD 900000'] [--back yes]

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['counter'], ['counts-up-to']);
$counter = $carry->option('counter');
$upTo = (int) $carry->option('counts-up-to');
$left = fn (int $value) => $upTo > 0 ? $upTo - $value : $value;

if ($carry->isBack()) {
    $value = $left($carry->takeBack());
    $carry->giveBack(fn ($old) => $old->set($counter, (string) $value) && $old->del("$counter:moved"));
    exit;
}
// What it says when everything is sold: 0, or all of them.
$aside = $carry->putAside($counter, (string) $upTo);
$units = $left((int) $carry->old->get($aside));
if ($units < 0) {
    echo 'oversold: ', -$units, " more were told that they had won than there were; the counter has no names\n";
}
$carry->open(max(0, $units));
$carry->start();
