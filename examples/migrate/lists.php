<?php

// A list that is popped: a token for each unit (award:100, goods), or the amounts of red packets.
//
//   php lists.php --old HOST:PORT --list award:100 --new HOST:PORT --sale sale:award
//       [--amounts lpop|rpop] [--winners KEY] [--terms 'LIMIT 1'] [--open no] [--back yes]

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['list'], ['amounts', 'winners']);
$list = $carry->option('list');
$amounts = $carry->option('amounts');

if ($carry->isBack()) {
    // The total of a drawn sale is fixed, so it is only stopped, and what was drawn leaves the list.
    $units = $amounts === '' ? $carry->takeBack() : $carry->stop();
    $carry->giveBack(function ($old) use ($carry, $list, $amounts, $units) {
        if ($amounts === '') {
            $units > 0 ? $old->lTrim("$list:moved", 0, $units - 1) : $old->del("$list:moved");
        } else {
            foreach ($carry->sold() as [, , $qty]) {
                $old->lRem("$list:moved", (string) $qty, 1);
            }
        }
        $old->renameNx("$list:moved", $list);
    });
    exit;
}
// Without its list the old program pops nothing: sold out.
$aside = $carry->putAside($list, null);
$tokens = $carry->old->lRange($aside, 0, -1);
if ($amounts === '') {
    // Who won before has a unit of those that were popped, beside the tokens that are left.
    $winners = $carry->option('winners');
    $users = $winners === '' ? [] : array_keys(iterator_to_array($carry->users($winners)));
    $carry->open(count($tokens) + count($users));
    foreach ($users as $user) {
        $carry->import((string) $user);
    }
} else {
    $draw = $amounts === 'rpop' ? array_reverse($tokens) : $tokens;
    $carry->open(array_sum($draw), ['DRAW', 'LIST', ...$draw]);
}
$carry->start();
