<?php

// Coins (001): a counter of packets, and rows of paid coins. The new sale counts coins: its budget is --budget.
// Paid coins are imported from --orders, your query for user, id, coins and Unix milliseconds, or from --buyers, a
// CSV file with these columns. The old counter is set to "all packets are given out".
//
//   php coins.php --old HOST:PORT --counter totalkey --counts-up-to 100 --budget 50000
//       --dsn 'mysql:host=127.0.0.1;dbname=shop' --db-user shop --orders 'SELECT user, id, coins, 0 FROM packets'
//       --new HOST:PORT --sale sale:coins [--terms 'OPENAT 1517828400000']
//       [--open no] [--enter-late yes] [--back yes]

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['counter', 'counts-up-to', 'budget'], ['dsn', 'db-user', 'orders', 'buyers']);
$counter = $carry->option('counter');
$full = (string) (int) $carry->option('counts-up-to');
$budget = (int) $carry->option('budget');
$full > 0 && $budget > 0 || Carry::fail('--counts-up-to is a number of packets, --budget a number of coins');
// The remaining coins are the budget minus the paid ones, so both sides can't sell at the same time.
$carry->option('add') === '' || Carry::fail('coins are not sold side by side: move them in one go');
$paid = function () use ($carry): array {
    if ($carry->option('dsn') === '') {
        return Buyers::fromFile($carry->option('buyers'));
    }
    $shop = new PDO($carry->option('dsn'), $carry->option('db-user', 'root'), getenv('DB_PASSWORD') ?: null);
    return Buyers::checked($shop->query($carry->option('orders'))->fetchAll(PDO::FETCH_NUM));
};

if ($carry->isBack()) {
    // The old counter gets the number of packets that were given out.
    $wasDone = $carry->checkBack() === 'done';
    $carry->lateOnTheWayBack($wasDone ? $paid() : []);
    $carry->takeBack();
    $packets = $wasDone ? iterator_count($carry->sold()) : null;
    $carry->giveBack(function (Redis $old) use ($counter, $packets) {
        $packets === null ? $old->rename("$counter:moved", $counter) : $old->set($counter, (string) $packets);
        $packets === null || $old->del("$counter:moved");
    });
    exit;
}
if ($carry->isDone('buyers')) {
    $isLeft = $carry->isLeft($counter, $full);
    $carry->endAgain($carry->late($paid()) > 0 || !$isLeft);
}
$carry->checkAside($counter);
$rows = $paid();
$carry->prepare(0, ['LIMIT', '0', 'GRABS', '1']);
$carry->close(fn (Redis $old) => $carry->aside($old, $counter, $full));
$rows = $paid();
$carry->fill($budget - array_sum(array_column($rows, 2)), $rows);
$carry->finish();
$carry->isLeft($counter, $full) || exit(Carry::LATE);
