<?php
require __DIR__ . '/Seckill.php';

session_start();
$user = (string) ($_SESSION['user'] ?? exit('请先登录'));
$key = 'sale:try';
$sale = new Seckill\Sale(function () {
    $redis = new Redis();
    $redis->connect('127.0.0.1', 6390);
    return $redis;
}, $key);
try {
    // A later sale under this key has another id: an order of this one is not sent to it.
    $place = "order:$key:" . $sale->status()['id'];
    $order = $_SESSION[$place] ??= bin2hex(random_bytes(16));
    $answer = $sale->grab($user, $order);
    if ($answer->outcome === 'REPLAY' && !$answer->won()) {
        // The session's order was refunded, so this click is a new order.
        $order = $_SESSION[$place] = bin2hex(random_bytes(16));
        $answer = $sale->grab($user, $order);
    }
    echo match (true) {
        $answer->outcome === 'ALREADY' => '您已经抢到过了',
        $answer->won() => '抢购成功！<br/>剩余数量：' . $sale->status()['available'] . '<br/>',
        $answer->outcome === 'PAUSED' => '活动暂停中。',
        $answer->outcome === 'SOLDOUT' => '已卖光！',
        default => '手气不好，再抢购！',
    };
} catch (Seckill\Unanswered $why) {
    error_log($why->getMessage());
    echo '正在确认，请再点一次';
} catch (Seckill\SaleError $why) {
    error_log($why->getMessage());
    echo '活动暂时不可用';
}
