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
$insert = 'INSERT INTO packets (order_no, user, coins) VALUES (?, ?, ?)
    ON DUPLICATE KEY UPDATE order_no = order_no';
$add = 'INSERT INTO users (id, coins) VALUES (?, ?)
    ON DUPLICATE KEY UPDATE coins = COALESCE(coins, 0) + ?';
// Nothing below needs a change.
$password === false && exit('DB_PASSWORD is missing');
try {
    // A later sale under this key has another id: an order of this one is not sent to it.
    $status = $sale->status();
    $place = "order:$key:{$status['id']}:" . ($status['round'] ?? 0);
    $order = $_SESSION[$place] ??= bin2hex(random_bytes(16));
    $answer = $sale->grab($user, $order, upto: mt_rand(1, 1000));
    if ($answer->outcome === 'REPLAY' && !$answer->won()) {
        // The session's order was refunded, so this click is a new order.
        $order = $_SESSION[$place] = bin2hex(random_bytes(16));
        $answer = $sale->grab($user, $order, upto: mt_rand(1, 1000));
    }
    $mine = $answer->won() && $answer->outcome !== 'ALREADY';
    if ($mine) {
        $bank = $shop();
        $bank->beginTransaction();
        $row = $bank->prepare($insert);
        $row->execute([$order, $user, $answer->qty]);
        if ($row->rowCount() === 1) {
            $bank->prepare($add)->execute([$user, $answer->qty, $answer->qty]);
        }
        $bank->commit();
    }
    $told = match (true) {
        $mine => ['msg' => '抢红包成功！', 'count' => $answer->qty],
        $answer->won() => ['msg' => '您已经抢到过了', 'count' => 0],
        $answer->outcome === 'PAUSED' => ['msg' => '活动暂停中。', 'count' => 0],
        default => ['msg' => '没有抢到红包哦，继续努力!', 'count' => 0],
    };
} catch (Seckill\Unanswered | PDOException $why) {
    error_log($why->getMessage());
    $told = ['msg' => '正在确认，请再点一次', 'count' => 0];
} catch (Seckill\SaleError $why) {
    error_log($why->getMessage());
    $told = ['msg' => '活动暂时不可用', 'count' => 0];
}
header('Content-Type: application/json');
echo json_encode($told, JSON_UNESCAPED_UNICODE);
