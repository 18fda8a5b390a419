<?php

// A column with the number that is left, and a table of orders: FOR UPDATE, version, num > 0,
// unsigned, CAS, @Transactional. `--orders` is your query for those who have bought, with the columns
// user, order id, quantity and Unix milliseconds; --old is not needed.
//
//   php sql.php --dsn 'mysql:unix_socket=/run/mysqld/mysqld.sock;dbname=shop' --db-user shop
//       --stock 'goods.num' --where 'id = 1' --orders 'SELECT ...' --new HOST:PORT --sale sale:goods
//       [--terms 'LIMIT 1 HOLD 900000 OUTBOX sale:goods:orders'] [--open no] [--add yes]
//       [--enter-late yes] [--back yes]

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['dsn', 'stock', 'where', 'orders'], ['db-user']);
$shop = new PDO($carry->option('dsn'), $carry->option('db-user', 'root'), getenv('DB_PASSWORD') ?: null);
[$table, $column] = explode('.', $carry->option('stock'));
$where = $carry->option('where');

$shop->exec('CREATE TABLE IF NOT EXISTS seckill_carried
    (sale VARCHAR(255) PRIMARY KEY, units INT NOT NULL, state VARCHAR(8) NOT NULL, base BIGINT NOT NULL,
    noted TEXT NOT NULL)');
$carry->shop = $shop;
$aside = function () use ($shop, $carry) {
    $row = $shop->prepare('SELECT units, base FROM seckill_carried WHERE sale = ?');
    $row->execute([$carry->option('sale')]);
    return array_map(intval(...), $row->fetch(PDO::FETCH_NUM));
};
$rows = fn () => Buyers::checked($shop->query($carry->option('orders'))->fetchAll(PDO::FETCH_NUM));

if ($carry->isBack()) {
    $carry->checkBack() === 'done' && $carry->lateOnTheWayBack($rows());
    $units = $carry->takeBack() ?? $aside()[0];
    // Once: the old program may have sold since.
    $shop->beginTransaction();
    $shop->prepare("UPDATE $table SET $column = ? WHERE $where")->execute([$units]);
    $carry->mark('back');
    $shop->commit();
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
    // What was left is written down and becomes 0 in one transaction: the old program says "sold out".
    $shop->beginTransaction();
    $units = $shop->query("SELECT $column FROM $table WHERE $where FOR UPDATE")->fetchAll(PDO::FETCH_COLUMN);
    count($units) === 1 || Carry::fail('--where must find exactly one row');
    $note = $shop->prepare("REPLACE INTO seckill_carried VALUES (?, ?, 'begun', ?, '')");
    $note->execute([$carry->option('sale'), $units[0], $carry->grants()]);
    $shop->exec("UPDATE $table SET $column = 0 WHERE $where");
    $shop->commit();
}
[$units, $base] = $aside();
$carry->fill($units, $rows(), $base);
$carry->finish();
