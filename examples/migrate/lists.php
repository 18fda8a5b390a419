<?php

// A list that is popped: a token for each unit (award:100, goods), codes, or the amounts of red packets.
//
//   php lists.php --old HOST:PORT --list award:100 --new HOST:PORT --sale sale:award
//       [--amounts lpop|rpop | --codes FILE] [--winners KEY] [--terms 'LIMIT 1'] [--open no] [--back yes]
//       [--enter-late yes|no]
//
// If the old program has pushed to the list since, the way back asks: with --enter-late yes the tokens left come behind
// what is there now; with no that is deleted.
// With --codes each token is a code: the sale has numbered units, number 1 is the first token, and FILE gets the
// rows number,token for your own table.

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['list'], ['amounts', 'codes', 'winners']);
$list = $carry->option('list');
$amounts = $carry->option('amounts');
$codes = $carry->option('codes');
$amounts !== '' && $codes !== '' && Carry::fail('--amounts or --codes, not both');

if ($carry->isBack()) {
    $carry->checkBack();
    $pushed = $carry->option('enter-late');
    $carry->isLeft($list, null) || in_array($pushed, ['yes', 'no'], true) || Carry::fail(
        "nothing was taken back: say --enter-late yes, and what is left comes behind what is in $list now, or no, and "
        . 'that is deleted'
    );
    $isList = in_array($carry->old->type($list), [Redis::REDIS_LIST, Redis::REDIS_NOT_FOUND], true);
    $isList || $pushed === 'no' || Carry::fail("$list is no list");
    // Numbers can't be withdrawn, and the total of drawn amounts is fixed: then the sale is only paused.
    $units = $carry->takeBack($amounts . $codes !== '');
    $left = tokensLeft($carry, $carry->old->lRange("$list:moved", 0, -1), $units);
    $carry->giveBack(function ($old) use ($list, $left, $pushed) {
        $pushed === 'no' && $old->del($list);
        // Behind, because the old program may have pushed while holds ended: no token is lost.
        foreach (array_chunk($left, 1000) as $some) {
            $old->rPush($list, ...$some);
        }
        $old->del("$list:moved");
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

/**
 * The tokens that nobody has: those with a free number, all but the drawn amounts, or the first $units; all of a move
 * that was stopped in the middle (null).
 */
function tokensLeft(Carry $carry, array $tokens, ?int $units): array
{
    if ($units === null) {
        return $tokens;
    }
    if ($carry->option('codes') !== '') {
        return array_values(array_intersect_key($tokens, $carry->free(count($tokens))));
    }
    if ($carry->option('amounts') === '') {
        return array_slice($tokens, 0, $units);
    }
    $drawn = [];
    foreach ($carry->sold() as [, , $qty]) {
        $drawn[$qty] = ($drawn[$qty] ?? 0) + 1;
    }
    return array_values(array_filter($tokens, function (string $token) use (&$drawn) {
        $isDrawn = ($drawn[$token] ?? 0) > 0;
        $isDrawn && $drawn[$token]--;
        return !$isDrawn;
    }));
}

/** Writes a file completely or not at all. */
function writeCodes(string $path, array $tokens): void
{
    $file = @fopen("$path.part", 'w') ?: Carry::fail("can't write $path");
    foreach ($tokens as $at => $token) {
        fputcsv($file, [$at + 1, $token], ',', '"', '');
    }
    fclose($file) && rename("$path.part", $path) || Carry::fail("can't write $path");
}
