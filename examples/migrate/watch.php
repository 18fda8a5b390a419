<?php

// WATCH, MULTI, EXEC: a hash of winners (user => time()), with or without a counter beside it. The
// hash is believed, not the counter: it is what the winners were told.
//
//   php watch.php --old HOST:PORT --winners mywatchlist --total 100 --new HOST:PORT --sale sale:prize
//       [--counter mywatchkey] [--terms 'LIMIT 1'] [--open no] [--back yes]

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['winners', 'total'], ['counter']);
$winners = $carry->option('winners');
$counter = $carry->option('counter');
$total = (int) $carry->option('total');

if ($carry->isBack()) {
    $units = $carry->takeBack();
    $carry->giveBack(function ($old) use ($carry, $winners, $counter, $total, $units) {
        foreach ($carry->sold() as [, $user, , , $atMs]) {
            $old->hSetNx($winners, $user, (string) intdiv($atMs, 1000));
        }
        $old->hDel($winners, ...array_map(fn ($place) => "moved:$place", range(1, $total)));
        $counter === '' || $old->set($counter, (string) ($total - $units));
    });
    exit;
}
// A full hash and a full counter say "sold out", and whoever watches one of them fails.
for ($place = 1; $place <= $total; $place++) {
    $carry->old->hSetNx($winners, "moved:$place", '0');
}
$counter === '' || $carry->old->set($counter, (string) $total);
$carry->open($total);
foreach ($carry->users($winners) as $user => $time) {
    if (!str_starts_with((string) $user, 'moved:')) {
        $carry->import((string) $user, atMs: 1000 * (int) $time);
    }
}
$carry->start();
