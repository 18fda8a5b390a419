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
$insert = 'INSERT INTO orders (order_no, user, number, amount) VALUES (?, ?, ?, ?)
    ON DUPLICATE KEY UPDATE order_no = order_no';
// Nothing below needs a change.
$password === false && exit('DB_PASSWORD is missing');
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
    if ($answer->outcome === 'ALREADY') {
        echo '您已经抢到过了';
    } elseif ($answer->won()) {
        // With numbered units this is the number of the code.
        $number = $answer->units[0] ?? $answer->seq;
        $shop()->prepare($insert)->execute([$order, $user, $number, $answer->qty]);
        echo "success: order $order, number $number, $answer->qty";
    } else {
        echo $answer->outcome === 'PAUSED' ? '活动暂停中。' : '手气不好，再抢购！';
    }
} catch (Seckill\Unanswered | PDOException $why) {
    error_log($why->getMessage());
    echo '正在确认，请再点一次';
} catch (Seckill\SaleError $why) {
    error_log($why->getMessage());
    echo '活动暂时不可用';
}
