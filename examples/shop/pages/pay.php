<?php

// Begins to pay: the order that this account holds, once, and over to the payment service.

require __DIR__ . '/../lib/shop.php';

$item = item();
$account = account_that_posts();
$mine = grant_of($account, $item);
($mine['state'] ?? '') === 'HELD' || go('/orders.php');

$database = database();
$key = [$account['id'], $item, $mine['req']];
$begin = 'INSERT INTO payments (account, item, req, fen) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE id = id';
query($database, $begin, [...$key, GOODS[$item]['fen'] * $mine['qty']]);
$find = 'SELECT id, fen FROM payments WHERE account = ? AND item = ? AND req = ?';
$payment = query($database, $find, $key)->fetch();
$bill = http_build_query(['payment' => $payment['id'], 'fen' => $payment['fen']]);
go("/bank/?$bill&sign=" . sign($bill));
