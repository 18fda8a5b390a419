<?php

// A Lua script or a function: a counter, and a hash, a set, a sorted set or a list of the buyers. On the way back a
// sorted set gets the new ones with the Unix time of their grant as the score.
//
//   php lua.php --old HOST:PORT --counter goods --buyers buyers --new HOST:PORT --sale sale:goods
//       [--terms 'LIMIT 1'] [--open no] [--back yes] [--enter-late yes|no]
//
// If the old program has written the counter since, the way back asks: with --enter-late yes what is left is added to
// it; with no it is overwritten.

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['counter', 'buyers']);
$counter = $carry->option('counter');
$buyers = $carry->option('buyers');

if ($carry->isBack()) {
    $carry->checkBack();
    $written = $carry->option('enter-late');
    $carry->isLeft($counter, '0') || in_array($written, ['yes', 'no'], true) || Carry::fail(
        "nothing was taken back: say --enter-late yes, and what is left is added to $counter, or no, and it is overwritten"
    );
    $isNumber = !$carry->old->exists($counter) || filter_var($carry->old->get($counter), FILTER_VALIDATE_INT) !== false;
    $isNumber || $written === 'no' || Carry::fail("$counter holds no number");
    $units = $carry->takeBack();
    $left = $units ?? (int) $carry->old->get("$counter:moved");
    $kind = $carry->old->type($buyers);
    $carry->giveBack(function ($old) use ($carry, $buyers, $counter, $kind, $units, $left, $written) {
        foreach ($units === null ? [] : $carry->sold() as [, $user, , , $atMs]) {
            match ($kind) {
                Redis::REDIS_SET => $old->sAdd($buyers, $user),
                Redis::REDIS_ZSET => $old->zAdd($buyers, ['NX'], intdiv($atMs, 1000), $user),
                Redis::REDIS_LIST => $old->lRem($buyers, $user, 0) && $old->rPush($buyers, $user),
                default => $old->hSetNx($buyers, $user, '1'),
            };
        }
        // Added, because the old program may return units while holds end.
        $written === 'no' && $old->set($counter, '0');
        $old->incrBy($counter, $left);
        $old->del("$counter:moved");
    });
    exit;
}
if ($carry->isDone()) {
    $carry->endAgain(!$carry->isLeft($counter, '0'));
}
$aside = $carry->checkAside($counter);
$carry->checkRecord($buyers);
$carry->prepare();
$carry->close(fn ($old) => $carry->aside($old, $counter, '0'));
$users = array_keys(iterator_to_array($carry->users($buyers)));
$carry->fill((int) $carry->old->get($aside), array_map(fn ($user) => Buyers::won((string) $user), $users));
$carry->finish();
