<?php

// WATCH, MULTI, EXEC: a hash of winners (user => time()), with or without a counter. The winners are read from the
// hash, not from the counter. If the counter is higher, several winners had one random id and overwrote each other:
// --same-id N is their number, which is subtracted from --total.
//
//   php watch.php --old HOST:PORT --winners mywatchlist --total 100 --new HOST:PORT --sale sale:prize
//       [--counter mywatchkey] [--same-id N] [--terms 'LIMIT 1'] [--open no] [--enter-late yes] [--back yes]

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['winners', 'total'], ['counter', 'same-id']);
$winners = $carry->option('winners');
$counter = $carry->option('counter');
$total = (int) $carry->option('total');
$nameless = (int) $carry->option('same-id');

$buyers = function () use ($carry, $winners) {
    $all = [];
    foreach ($carry->users($winners) as $user => $time) {
        str_starts_with((string) $user, 'moved:') || $all[] = Buyers::won((string) $user, 1000 * (int) $time);
    }
    return $all;
};
if ($carry->isBack()) {
    $carry->lateOnTheWayBack($buyers());
    $units = $carry->takeBack();
    $left = $units ?? $total - $nameless - count($buyers());
    $carry->giveBack(function ($old) use ($carry, $winners, $counter, $total, $units, $left) {
        foreach ($units === null ? [] : $carry->sold() as [, $user, , , $atMs]) {
            $old->hSetNx($winners, $user, (string) intdiv($atMs, 1000));
        }
        $old->hDel($winners, ...array_map(fn ($place) => "moved:$place", range(1, $total)));
        $counter === '' || $old->set($counter, (string) ($total - $left));
    });
    exit;
}
if ($carry->isDone()) {
    $late = $carry->late($buyers());
    $isToShut = $counter !== '' && $carry->option('enter-late') === 'yes';
    $isToShut && $carry->shutAgain($counter, (string) $total);
    $isLeft = $counter === '' || $carry->isLeft($counter, (string) $total);
    $isLeft || print("--enter-late yes sets it again, and enters who has won\n");
    $carry->endAgain($late > 0 || !$isLeft);
}
$total > 0 || Carry::fail('--total is how many prizes there were');
$carry->checkRecord($winners);
// To close the old side the hash is filled up.
$isHash = in_array($carry->old->type($winners), [Redis::REDIS_HASH, Redis::REDIS_NOT_FOUND], true);
$isHash || Carry::fail("$winners is no hash");
$more = $counter === '' || $carry->state() === 'begun' ? 0 : (int) $carry->old->get($counter) - count($buyers());
if ($more > 0 && $carry->option('same-id') === '') {
    Carry::fail("$counter says $more more than $winners has: so many had the same random id as another winner. Say "
        . "--same-id $more to take them off the total, or --same-id 0 if nobody was told so. Nothing was done");
}
$carry->prepare();
// A full hash and a full counter mean "sold out", and the EXEC of requests that watch them fails.
$carry->close(function ($old) use ($winners, $counter, $total) {
    for ($place = 1; $place <= $total; $place++) {
        $old->hSetNx($winners, "moved:$place", '0');
    }
    $counter === '' || $old->set($counter, (string) $total);
});
$won = $buyers();
$carry->fill($total - $nameless - count($won), $won);
$carry->finish();
