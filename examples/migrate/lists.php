<?php

// A list that is popped: a token for each unit (award:100, goods), codes, or the amounts of red packets.
//
//   php lists.php --old HOST:PORT --list award:100 --new HOST:PORT --sale sale:award
//       [--amounts lpop|rpop | --codes FILE] [--winners KEY] [--terms 'LIMIT 1'] [--open no] [--back yes]
//
// With --codes each token is a code: the sale has numbered units, number 1 is the first token, and FILE gets the
// rows number,token for your own table.

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['list'], ['amounts', 'codes', 'winners']);
$list = $carry->option('list');
$amounts = $carry->option('amounts');
$codes = $carry->option('codes');
$amounts !== '' && $codes !== '' && Carry::fail('--amounts or --codes, not both');

if ($carry->isBack() && $codes !== '') {
    // Numbers can't be withdrawn, so the sale is only paused. Tokens with a sold number leave the list.
    $isWhole = $carry->takeBack(true) === null;
    $tokens = $carry->old->lRange("$list:moved", 0, -1);
    $left = $isWhole ? $tokens : array_values(array_intersect_key($tokens, $carry->free(count($tokens))));
    $carry->giveBack(function ($old) use ($list, $left) {
        $old->del("$list:moved");
        foreach (array_chunk($left, 1000) as $some) {
            $old->rPush($list, ...$some);
        }
    });
    exit;
}
if ($carry->isBack()) {
    // The total of a sale with drawn amounts is fixed, so the sale is only paused. Drawn amounts leave the list.
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
$amounts === '' ? $carry->prepare(0, $codes === '' ? [] : ['NUMBERED']) : $carry->prepare(array_sum($draw), ['DRAW', 'LIST', ...$draw]);
// Without its list the old program pops nothing, which means "sold out".
$carry->close(fn ($old) => $carry->aside($old, $list, null));
$left = $carry->old->lRange($aside, 0, -1);
if ($amounts === '') {
    // An earlier winner has a popped unit; the remaining tokens are additional units.
    $winners = $carry->option('winners');
    $users = $winners === '' ? [] : array_keys(iterator_to_array($carry->users($winners)));
    $buyers = array_map(fn ($user) => Buyers::won((string) $user), $users);
    $codes === '' ? $carry->fill(count($left), $buyers) : $carry->fillNumbered(count($left), $buyers);
    $codes === '' || writeCodes($codes, $left);
} elseif ($left !== $tokens) {
    $carry->giveBack(fn ($old) => $old->rename($aside, $list));
    Carry::fail("the old page popped meanwhile, and has its list again: take it off, DEL the sale, run this again");
}
$carry->finish();

/** Writes a file completely or not at all. */
function writeCodes(string $path, array $tokens): void
{
    $file = @fopen("$path.part", 'w') ?: Carry::fail("can't write $path");
    foreach ($tokens as $at => $token) {
        fputcsv($file, [$at + 1, $token], ',', '"', '');
    }
    fclose($file) && rename("$path.part", $path) || Carry::fail("can't write $path");
}
