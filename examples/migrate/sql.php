<?php

// A column with the number that is left, and a table of orders: FOR UPDATE, version, num > 0,
// unsigned, CAS, @Transactional. `--orders` is your query for those who have bought, with the columns
// user, order id, quantity and Unix milliseconds; --old is not needed.
//
//   php sql.php --dsn 'mysql:unix_socket=/run/mysqld/mysqld.sock;dbname=shop' --db-user shop
//       --stock 'goods.num' --where 'id = 1' --orders 'SELECT ...' --new HOST:PORT --sale sale:goods
//       [--terms 'LIMIT 1 HOLD 900000 OUTBOX sale:goods:orders'] [--open no] [--add yes]
//       [--notes table|new] [--enter-late yes] [--back yes]
//
// How far it came is noted in a table of your shop, seckill_carried, which it makes, in the transaction that
// makes the column 0. Where it may make no table: --notes new notes it beside the sale, in the hash
// SALE:carried, and your database sees an UPDATE of the one row and your query, nothing else.

require __DIR__ . '/carry.php';
require __DIR__ . '/sql_notes.php';

$carry = Carry::fromOptions(['dsn', 'stock', 'where', 'orders'], ['db-user', 'notes']);
$shop = new PDO($carry->option('dsn'), $carry->option('db-user', 'root'), getenv('DB_PASSWORD') ?: null);
[$table, $column] = explode('.', $carry->option('stock'));
$where = $carry->option('where');

$notes = match ($carry->option('notes', 'table')) {
    'table' => new TableNotes($carry, $shop),
    'new' => new HashNotes($carry, $shop),
    default => Carry::fail('--notes is table or new'),
};
$rows = fn () => Buyers::checked($shop->query($carry->option('orders'))->fetchAll(PDO::FETCH_NUM));

$units = fn () => $shop->query("SELECT $column FROM $table WHERE $where FOR UPDATE")->fetchAll(PDO::FETCH_COLUMN);
$set = fn (int $units) => $shop->prepare("UPDATE $table SET $column = ? WHERE $where")->execute([$units]);
$sold = fn () => array_sum(array_column($rows(), 2));
$notes->settle($units, $sold);
if ($carry->isBack()) {
    $carry->checkBack() === 'done' && $carry->lateOnTheWayBack($rows());
    // Once: the old program may have sold since.
    $notes->giveBack($carry->takeBack() ?? $notes->aside()[0], $set, $sold);
    exit;
}
if ($carry->isDone()) {
    $now = (string) $shop->query("SELECT $column FROM $table WHERE $where")->fetchColumn();
    $now === '0' || print("late: the old program wrote $column since, 0 became $now: take its page off\n");
    $carry->endAgain($carry->late($rows()) > 0 || $now !== '0');
}
$rows();
$carry->prepare();
if ($carry->state() !== 'begun') {
    // The rest is noted and set to 0 in one transaction: the old program says "sold out".
    $shop->beginTransaction();
    $there = $units();
    count($there) === 1 || Carry::fail('--where must find exactly one row');
    $notes->close((int) $there[0], $carry->grants(), $sold);
    $set(0);
    $shop->commit();
    $notes->closed();
}
[$left, $base] = $notes->aside();
$carry->fill($left, $rows(), $base);
$carry->finish();
