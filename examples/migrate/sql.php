<?php

// A column with the number that is left, and a table of orders: FOR UPDATE, version, num > 0,
// unsigned, CAS, @Transactional. `--orders` is your query for those who have bought, with the columns
// user, order id, quantity and Unix milliseconds; --old is not needed.
//
//   php sql.php --dsn 'mysql:unix_socket=/run/mysqld/mysqld.sock;dbname=shop' --db-user shop
//       --stock 'goods.num' --where 'id = 1' --orders 'SELECT ...' --new HOST:PORT --sale sale:goods
//       [--terms 'LIMIT 1 HOLD 900000 OUTBOX sale:goods:orders'] [--open no] [--back yes]

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['dsn', 'stock', 'where', 'orders'], ['db-user']);
$shop = new PDO($carry->option('dsn'), $carry->option('db-user', 'root'), getenv('DB_PASSWORD') ?: null);
[$table, $column] = explode('.', $carry->option('stock'));
$where = $carry->option('where');

if ($carry->isBack()) {
    $units = $carry->takeBack();
    // Once: the old program may have sold since.
    $shop->beginTransaction();
    $moved = $shop->prepare('DELETE FROM seckill_moved WHERE sale = ?');
    $moved->execute([$carry->option('sale')]);
    $moved->rowCount() === 1 || Carry::fail('it is back already');
    $shop->prepare("UPDATE $table SET $column = ? WHERE $where")->execute([$units]);
    $shop->commit();
    exit;
}
// What was left is written down and becomes 0 in one transaction: the old program says "sold out".
$shop->exec('CREATE TABLE IF NOT EXISTS seckill_moved (sale VARCHAR(255) PRIMARY KEY, units INT NOT NULL)');
$shop->beginTransaction();
$units = $shop->query("SELECT $column FROM $table WHERE $where FOR UPDATE")->fetchAll(PDO::FETCH_COLUMN);
count($units) === 1 || Carry::fail('--where must find exactly one row');
$shop->prepare('INSERT IGNORE INTO seckill_moved VALUES (?, ?)')->execute([$carry->option('sale'), $units[0]]);
$shop->exec("UPDATE $table SET $column = 0 WHERE $where");
$shop->commit();

$moved = $shop->prepare('SELECT units FROM seckill_moved WHERE sale = ?');
$moved->execute([$carry->option('sale')]);
$left = (int) $moved->fetchColumn();
$orders = $shop->query($carry->option('orders'))->fetchAll(PDO::FETCH_NUM);
$carry->open(max(0, $left + array_sum(array_column($orders, 2))));
foreach ($orders as [$user, $order, $qty, $atMs]) {
    $carry->import((string) $user, (int) $qty, (string) $order, (int) $atMs);
}
$carry->start();
