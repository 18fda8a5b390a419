<?php

// A simulated bank: another company with its own database, where the buyer pays a bill of the shop.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/messages.php';

$_SERVER['REQUEST_METHOD'] === 'POST' || refuse(405, t('只接受 POST'));
$bill = received('bill');
['payment' => $payment, 'fen' => $fen, 'until' => $until] = $bill;
$database = database();
if (word('pay') !== '') {
    $until > time() || refuse(410, t('付款单已过期'));
    // Only once: a bill that was paid or refunded can't be paid again.
    query($database, 'INSERT IGNORE INTO trades (payment, fen, state) VALUES (?, ?, "PAID")', [$payment, $fen]);
    go('/orders.php');
}
$state = query($database, 'SELECT state FROM trades WHERE payment = ?', [$payment])->fetchColumn();
frame(t('支付平台'), '<main><h1>' . t('支付平台（模拟）') . '</h1><p>' . t('商户：秒杀小店') . '</p><p>'
    . t('付款单 %d', $payment) . '</p><p class="price">' . yuan($fen) . '</p>' . match ($state) {
        'PAID' => '<p>' . t('已付款') . '</p>',
        'REFUNDED' => '<p>' . t('货款已退回') . '</p>',
        default => '<form method="post">' . fields($bill + ['sign' => word('sign')])
            . '<button id="pay" name="pay" value="1">' . t('确认付款') . '</button></form>',
    } . '</main>');
