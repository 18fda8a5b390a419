<?php

// What takes the place of the posts' programs: one function for each family. Each block between two
// comments is shown in docs/migrate.md.
//
//   php after.php counter|business|watch|coins|round|lists|sql SALE USER ORDER [yes|no|COINS]

declare(strict_types=1);

require __DIR__ . '/../../clients/php/src/Seckill.php';

use Seckill\Sale;
use Seckill\SaleError;
use Seckill\Unanswered;

function connect(): Redis
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int) (getenv('REDIS_PORT') ?: 6390));
    return $redis;
}

// counter
function counter(string $key, string $user, string $order): array
{
    $answer = (new Sale(connect(...), $key))->grab($user, $order);
    if ($answer->outcome === 'ALREADY') {
        return ['msg' => '您已经抢到过了', 'code' => 'ALREADY'];
    }
    if ($answer->won()) {
        return ['msg' => '秒杀成功', 'order' => $order];
    }
    return ['msg' => '秒杀失败,商品库存不足。', 'code' => $answer->outcome];
}

// business
function business(string $key, string $user, string $order, callable $work): array
{
    $sale = new Sale(connect(...), $key);
    $answer = $sale->grab($user, $order);
    if ($answer->outcome === 'ALREADY') {
        return ['msg' => '您已经抢到过了'];
    }
    if ($answer->outcome === 'GRANTED' && $answer->state === 'SOLD') {
        throw new LogicException('this sale has no HOLD: what fails could not be given back');
    }
    if (!$answer->won()) {
        return ['msg' => '秒杀失败,商品库存不足。', 'again' => $answer->outcome === 'REPLAY'];
    }
    if ($answer->outcome === 'REPLAY' && $answer->state === 'SOLD') {
        return ['msg' => '秒杀成功'];
    }
    $done = false;
    try {
        $done = $work();
    } finally {
        $done || $sale->cancel($user, $order);
    }
    $paid = $done && $sale->confirm($user, $order)->state === 'SOLD';
    return ['msg' => $paid ? '秒杀成功' : '秒杀失败', 'again' => !$paid];
}

// watch
function watch(string $key, string $user, string $order): void
{
    $sale = new Sale(connect(...), $key);
    $answer = $sale->grab($user, $order);
    if ($answer->outcome === 'ALREADY') {
        echo '您已经抢到过了';
    } elseif ($answer->won()) {
        echo '抢购成功！<br/>';
        echo '剩余数量：', $answer->available ?? $sale->status()['available'], '<br/>';
    } else {
        echo $answer->outcome === 'SOLDOUT' ? '已卖光！' : '手气不好，再抢购！';
    }
}

// coins
function coins(string $key, string $user, string $order, int $count): array
{
    try {
        $answer = (new Sale(connect(...), $key))->grab($user, $order, upto: $count);
    } catch (Unanswered) {
        return ['msg' => '正在确认，请再点一次', 'count' => 0];
    } catch (SaleError $why) {
        error_log($why->getMessage());
        return ['msg' => '活动暂时不可用', 'count' => 0];
    }
    if ($answer->outcome === 'ALREADY') {
        return ['msg' => '您已经抢过了', 'count' => 0];
    }
    if ($answer->won()) {
        return ['msg' => '抢红包成功！', 'count' => $answer->qty];
    }
    return ['msg' => '没有抢到红包哦，继续努力!', 'count' => 0];
}

// round
function roundOrder(string $key, array &$session): string
{
    $round = (new Sale(connect(...), $key))->status()['round'];
    return $session["order:$key:$round"] ??= bin2hex(random_bytes(16));
}

// lists
function lists(string $key, string $user, string $order): void
{
    $answer = (new Sale(connect(...), $key))->grab($user, $order);
    if (!$answer->won() || $answer->outcome === 'ALREADY') {
        echo $answer->won() ? '您已经抢到过了' : '手气不好，再抢购！';
        return;
    }
    echo "success: order $order, number $answer->seq, $answer->qty";
}

// sql
function sql(PDO $shop, string $key, string $user, string $order): string
{
    $sale = new Sale(connect(...), $key);
    $answer = $sale->grab($user, $order);
    if ($answer->outcome === 'ALREADY' || $answer->state === null) {
        return "fail: $answer->outcome";
    }
    if ($answer->won()) {
        $shop->prepare('INSERT IGNORE INTO orders (id, user) VALUES (?, ?)')->execute([$order, $user]);
        $answer = $sale->confirm($user, $order);
    }
    if ($answer->state === 'SOLD') {
        return "success: $answer->seq";
    }
    // The hold ended before the row was there, and the unit may be somebody else's by now.
    $shop->prepare('DELETE FROM orders WHERE id = ? AND user = ?')->execute([$order, $user]);
    return 'fail: late';
}

// end
if (realpath($_SERVER['SCRIPT_FILENAME']) === __FILE__) {
    [, $family, $key, $user, $order] = $argv;
    $_SESSION = [];
    $told = match ($family) {
        'business' => business($key, $user, $order, fn () => ($argv[5] ?? 'yes') === 'yes'),
        'coins' => coins($key, $user, $order, (int) ($argv[5] ?? 1)),
        'round' => roundOrder($key, $_SESSION) . ' ' . roundOrder($key, $_SESSION),
        'sql' => sql(new PDO(getenv('DSN'), 'root'), $key, $user, $order),
        default => $family($key, $user, $order),
    };
    echo is_array($told) ? json_encode($told, JSON_UNESCAPED_UNICODE) : $told, "\n";
}
