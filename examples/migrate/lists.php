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
    $units = $carry->takeBack($amounts !== '');
    $carry->giveBack(function ($old) use ($carry, $list, $amounts, $units) {
        if ($amounts === '' && $units !== null) {
            $units > 0 ? $old->lTrim("$list:moved", 0, $units - 1) : $old->del("$list:moved");
        } elseif ($amounts !== '') {
            foreach ($carry->sold() as [, , $qty]) {
                $old->lRem("$list:moved", (string) $qty, 1);
            }
        }
        $units !== 0 || $amounts !== '' ? $old->renameNx("$list:moved", $list) : null;
    });
    exit;
}
if ($carry->isDone()) {
    $carry->endAgain(!$carry->isLeft($list, null));
}
$aside = $carry->checkAside($list);
$carry->option('winners') === '' || $carry->checkRecord($carry->option('winners'));
$from = $carry->state() === 'begun' ? $aside : $list;
$carry->old->type($from) === Redis::REDIS_LIST || Carry::fail("$from is no list");
$tokens = $carry->old->lRange($from, 0, -1);
$draw = $amounts === 'rpop' ? array_reverse($tokens) : $tokens;
$amounts === '' ? $carry->prepare() : $carry->prepare(array_sum($draw), ['DRAW', 'LIST', ...$draw]);
// Without its list the old program pops nothing: sold out.
$carry->close(fn ($old) => $carry->aside($old, $list, null));
$left = $carry->old->lRange($aside, 0, -1);
if ($amounts === '') {
    // Who won before has a unit of those that were popped, beside the tokens that are left.
    $winners = $carry->option('winners');
    $users = $winners === '' ? [] : array_keys(iterator_to_array($carry->users($winners)));
    $carry->fill(count($left), array_map(fn ($user) => Buyers::won((string) $user), $users));
} elseif ($left !== $tokens) {
    $carry->giveBack(fn ($old) => $old->rename($aside, $list));
    Carry::fail("the old page popped meanwhile, and has its list again: take it off, DEL the sale, run this again");
}
$carry->finish();
