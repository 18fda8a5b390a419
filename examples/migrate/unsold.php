<?php

// Orders without a unit: the new page wrote the row and died before CONFIRM, so the hold ended, and the unit was for
// sale again. The page removes such a row at the user's next click; this program finds the others.
//
//   php unsold.php --dsn 'mysql:host=127.0.0.1;dbname=shop' --db-user shop
//       --rows 'SELECT user, order_no FROM orders WHERE order_no IS NOT NULL' --new HOST:PORT --sale sale:goods
//       [--delete 'DELETE FROM orders WHERE user = ? AND order_no = ?']
//
// Without --delete it changes nothing, and ends with 2 if there are such rows. Rows whose order the sale does not know
// are of another sale, and are left alone. So are those of refunded orders, which were sold.

require __DIR__ . '/carry.php';

$carry = Carry::fromOptions(['dsn', 'rows'], ['db-user', 'delete']);
$shop = new PDO($carry->option('dsn'), $carry->option('db-user', 'root'), getenv('DB_PASSWORD') ?: null);
// The rows come first: then a row that was found has its grant already.
$rows = $shop->query($carry->option('rows'))->fetchAll(PDO::FETCH_NUM);
$states = [];
foreach ($carry->grantsIn('ALL') as [, $user, , $state, , , $order]) {
    $states["$user\0$order"] = $state;
}
$unsold = $others = 0;
$delete = $carry->option('delete') === '' ? null : $shop->prepare($carry->option('delete'));
foreach ($rows as $row) {
    count($row) === 2 || Carry::fail('--rows is a query for two columns, user and order number');
    $state = $states["$row[0]\0$row[1]"] ?? null;
    $others += $state === null ? 1 : 0;
    if (!in_array($state, Carry::UNSOLD, true)) {
        continue;
    }
    $unsold++;
    echo "no unit: $row[0] with order $row[1] is $state", $delete === null ? '' : ', and the row deleted', "\n";
    $delete?->execute($row);
}
echo "$unsold rows without a unit; $others rows of orders that $carry->sale does not know\n";
exit($unsold > 0 && $delete === null ? Carry::LATE : 0);
