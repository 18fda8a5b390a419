<?php

// Starts a payment: writes one bill for the order that this account holds, and sends the buyer to the bank.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';
require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/messages.php';

/** Seconds after the hold in which a bill can still be paid. A late payment gets a unit or is refunded. */
const LATE_S = 86400;

$item = item();
$account = account_that_posts();
$sale = status($item)['id'] ?? '';
$mine = grants_of($account, $item, word('order'))[0] ?? [];
($mine['state'] ?? '') === 'HELD' || go('/orders.php');

// With the id of the sale, because an old bill must not pay for a new sale at this key.
$order = [$sale, $account['id'], $mine['req']];
$bill = [$item, GOODS[$item]['fen'] * $mine['qty'], intdiv($mine['deadlineMs'], 1000) + LATE_S];
$database = database();
$begin = 'INSERT IGNORE INTO payments (sale, account, req, item, fen, until) VALUES (?, ?, ?, ?, ?, ?)';
query($database, $begin, [...$order, ...$bill]);
$find = 'SELECT id, fen, until FROM payments WHERE sale = ? AND account = ? AND req = ?';
$payment = query($database, $find, $order)->fetch();

// By POST, because addresses appear in logs and histories. shop.js presses the button.
page(t('去付款'), $account, '<form id="bill" method="post" action="/bank/">'
    . fields(signed('bill', $payment['id'], $payment['fen'], $payment['until']))
    . '<p><button>' . t('去付款') . '</button></p></form>');
