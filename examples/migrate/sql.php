<?php

// A column with the remaining stock, and a table of orders: FOR UPDATE, version, num > 0, unsigned, CAS,
// @Transactional. `--orders` is your query for earlier orders, with the columns user, order id, quantity and Unix
// milliseconds; --old is not needed.
//
//   php sql.php --dsn 'mysql:unix_socket=/run/mysqld/mysqld.sock;dbname=shop' --db-user shop
//       --stock 'goods.num' --where 'id = 1' --orders 'SELECT ...' --new HOST:PORT --sale sale:goods
//       [--terms 'LIMIT 1 HOLD 900000 OUTBOX sale:goods:orders'] [--open no] [--add yes]
//       [--notes table|new] [--enter-late yes] [--back yes]
//
// The progress is recorded in a table of your shop, seckill_carried, in the transaction that sets the column to 0.
// The program creates this table. Without the right to do so use --notes new: then the records are in the hash
// SALE:carried beside the sale, and your database gets only your query and an UPDATE of the row.

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
    // Only once, because the old program may have sold since.
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
    // The remaining stock is recorded and set to 0 in one transaction, so the old program says "sold out".
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
