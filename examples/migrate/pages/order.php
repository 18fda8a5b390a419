<?php
require __DIR__ . '/Seckill.php';

session_start();
// Adapt to your shop: the login, the servers, the tables and their columns.
$user = (string) ($_SESSION['user'] ?? exit('请先登录'));
$key = 'sale:try';
$sale = new Seckill\Sale(function () {
    $redis = new Redis();
    $redis->connect('127.0.0.1', 6390);
    return $redis;
}, $key);
$password = getenv('DB_PASSWORD');
$shop = fn () => new PDO('mysql:host=127.0.0.1;port=3306;dbname=shop', 'shop', $password);
$insert = 'INSERT INTO orders (order_no, user, goods_id) VALUES (?, ?, 1)
    ON DUPLICATE KEY UPDATE order_no = order_no';
$delete = 'DELETE FROM orders WHERE order_no = ? AND user = ?';
// Nothing below needs a change.
$password === false && exit('DB_PASSWORD is missing');
$order = '';
try {
    // A later sale under this key has another id: an order of this one is not sent to it.
    $status = $sale->status();
    $place = "order:$key:{$status['id']}";
    $status['hold_ms'] > 0 || throw new LogicException("$key has no HOLD: a unit could not be given back");
    $order = $_SESSION[$place] ??= bin2hex(random_bytes(16));
    $answer = $sale->grab($user, $order);
    $mine = $answer->outcome !== 'ALREADY';
    $done = $mine && $answer->won() && $shop()->prepare($insert)->execute([$order, $user]);
    if ($mine && $answer->state === 'HELD') {
        $answer = $done ? $sale->confirm($user, $order) : $sale->cancel($user, $order);
    }
    if ($mine && !in_array($answer->state, [null, 'HELD', 'SOLD'], true)) {
        $shop()->prepare($delete)->execute([$order, $user]);
        unset($_SESSION[$place]);
    }
    $msg = match (true) {
        !$mine => '您已经抢到过了',
        $answer->state === 'SOLD' => $done ? '秒杀成功' : '正在确认，请再点一次',
        $answer->outcome === 'PAUSED' => '活动暂停中。',
        default => '秒杀失败,商品库存不足。',
    };
} catch (Seckill\Unanswered | PDOException $why) {
    error_log($why->getMessage());
    $msg = '正在确认，请再点一次';
} catch (Seckill\SaleError $why) {
    error_log($why->getMessage());
    $msg = '活动暂时不可用';
}
header('Content-Type: application/json');
echo json_encode(['msg' => $msg, 'order' => $order], JSON_UNESCAPED_UNICODE);
