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
// The web server has to say it, not only the shell: php-fpm empties its environment.
$password = getenv('DB_PASSWORD');
$password === false && exit('DB_PASSWORD is missing');
$shop = fn () => new PDO('mysql:host=127.0.0.1;port=3306;dbname=shop', 'shop', $password);
try {
    $round = $sale->status()['round'] ?? 0;
    $order = $_SESSION["order:$key:$round"] ??= bin2hex(random_bytes(16));
    $answer = $sale->grab($user, $order, upto: mt_rand(1, 1000));
    $mine = $answer->won() && $answer->outcome !== 'ALREADY';
    if ($mine) {
        $bank = $shop();
        $bank->beginTransaction();
        $row = $bank->prepare('INSERT INTO packets (order_no, user, coins) VALUES (?, ?, ?)
            ON DUPLICATE KEY UPDATE order_no = order_no');
        $row->execute([$order, $user, $answer->qty]);
        if ($row->rowCount() === 1) {
            $add = $bank->prepare('UPDATE users SET coins = coins + ? WHERE id = ?');
            $add->execute([$answer->qty, $user]);
        }
        $bank->commit();
    }
    $told = match (true) {
        $mine => ['msg' => '抢红包成功！', 'count' => $answer->qty],
        $answer->won() => ['msg' => '您已经抢过了', 'count' => 0],
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
