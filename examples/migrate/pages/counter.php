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
$order = '';
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
    $mine = $answer->outcome !== 'ALREADY';
    $msg = match (true) {
        !$mine => '您已经抢到过了',
        $answer->state === 'SOLD' => '秒杀成功',
        $answer->outcome === 'PAUSED' => '活动暂停中。',
        default => '秒杀失败,商品库存不足。',
    };
} catch (Seckill\Unanswered $why) {
    error_log($why->getMessage());
    $msg = '正在确认，请再点一次';
} catch (Seckill\SaleError $why) {
    error_log($why->getMessage());
    $msg = '活动暂时不可用';
}
header('Content-Type: application/json');
echo json_encode(['msg' => $msg, 'order' => $order], JSON_UNESCAPED_UNICODE);
