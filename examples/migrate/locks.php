<?php

// A lock around the stock: SETNX, SET NX EX, Redlock, Laravel's Cache::lock. The stock is a
// counter below it. The lock stays locked, so that the old program can't begin any more.
//
//   php locks.php --old HOST:PORT --counter goods --lock lock:goods --new HOST:PORT --sale sale:goods
//       [--terms 'LIMIT 1 HOLD 900000'] [--open no] [--back yes]

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['counter', 'lock']);
$counter = $carry->option('counter');
$lock = $carry->option('lock');
// The lock is overwritten: it would take the stock with it.
$lock !== $counter || Carry::fail('the lock is the stock itself: carry it with counter.php');

if ($carry->isBack()) {
    $units = $carry->takeBack();
    $carry->giveBack(fn ($old) => $old->set($counter, (string) $units) && $old->del("$counter:moved", $lock));
    exit;
}
$carry->old->set($lock, 'moved');
$aside = $carry->putAside($counter, '0');
$units = (int) $carry->old->get($aside);
$carry->open(max(0, $units));
$carry->start();
// Whoever was inside when their lock was taken goes on: what they sell makes the counter negative.
$late = (int) $carry->old->get($counter);
if ($late < 0) {
    $sale = $carry->option('sale');
    echo 'late: ', -$late, " were sold by the old program since: SECKILL.RESTOCK $sale $late REQ late\n";
}
