<?php

// A payment service, played: another company with its own database, that shares one secret with the
// shop. It takes the money of a payment once, tells the shop until it hears "success", and tells it
// once more, as real ones do when an answer is lost.

require __DIR__ . '/../lib/shop.php';

const TELL_MAX = 8;

$database = database();
if (isset($_SERVER['HTTP_X_SIGN'])) {
    $body = (string) file_get_contents('php://input');
    hash_equals(sign($body), $_SERVER['HTTP_X_SIGN']) || refuse(403, 'wrong signature');
    query($database, 'UPDATE bank.trades SET state = ? WHERE payment = ?', ['REFUNDED', $_POST['payment']]);
    exit('success');
}
[$payment, $fen] = [word('payment'), word('fen')];
$bill = http_build_query(['payment' => $payment, 'fen' => $fen]);
hash_equals(sign($bill), word('sign')) || refuse(403, 'wrong signature');
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    $take = 'INSERT INTO bank.trades (payment, fen, state) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE fen = fen';
    query($database, $take, [$payment, $fen, 'PAID']);
    tell($bill);
    tell($bill);
    go('/orders.php');
}
page('支付平台', null, function () use ($payment, $fen) {
    echo '<h1>支付平台（模拟）</h1><p>商户：秒杀小店</p><p>付款单 ', h($payment), '</p><p class="price">',
        yuan((int) $fen), '</p><form method="post"><button id="pay">确认付款</button></form>';
});

function tell(string $bill): void
{
    $header = "X-Sign: " . sign($bill) . "\r\nContent-Type: application/x-www-form-urlencoded";
    $http = ['method' => 'POST', 'header' => $header, 'content' => $bill, 'timeout' => 10, 'ignore_errors' => true];
    for ($times = 1; $times <= TELL_MAX; $times++) {
        $url = getenv('SHOP_URL') . '/callback.php';
        if (@file_get_contents($url, false, stream_context_create(['http' => $http])) === 'success') {
            return;
        }
        usleep(100_000 * $times);
    }
}
