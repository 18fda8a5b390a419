<?php

// What the pages share: the sale, the database, who is logged in, and the frame of a page.

declare(strict_types=1);

// In a shop of your own this file lies wherever composer puts it.
require __DIR__ . '/../../../clients/php/src/Seckill.php';

use Seckill\Sale;

const GOODS = [
    'phone' => ['name' => '星辰 X1 手机', 'fen' => 199900],
    'ticket' => ['name' => '跨年演唱会门票', 'fen' => 68000],
    'coupon' => ['name' => '一元咖啡券', 'fen' => 100],
];

/** A process that waits for Redis serves nobody. Who hears nothing presses again. */
const PATIENCE_S = 1.0;

// What went wrong is for the log. A visitor can only try again.
set_exception_handler(function (Throwable $why) {
    error_log($why::class . ": {$why->getMessage()} at {$why->getFile()}:{$why->getLine()}");
    refuse($why instanceof Seckill\Unanswered ? 503 : 500, '活动火爆，请稍后再试');
});

/** The users of redis.conf.example: what the shop may do and what its operators may are two lists. */
function redis_as(string $user): Redis
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int) getenv('REDIS_PORT'), PATIENCE_S, null, 0, PATIENCE_S);
    $redis->auth([$user, getenv('SHOP_SECRET') . "-$user"]);
    return $redis;
}

function sale(string $item): Sale
{
    return new Sale(fn () => redis_as('shop'), "sale:$item", attempts: 2);
}

/** What the sale says of itself, or null before an operator has opened one. */
function status(string $item): ?array
{
    try {
        return sale($item)->status();
    } catch (Seckill\SaleError $error) {
        return $error->errorCode === 'NOSALE' ? null : throw $error;
    }
}

/** The grant that an account has, held or paid: one a person, because the sale's LIMIT is 1. */
function grant_of(array $account, string $item): ?array
{
    try {
        $grants = sale($item)->user((string) $account['id'])['grants'];
    } catch (Seckill\SaleError $error) {
        return $error->errorCode === 'NOSALE' ? null : throw $error;
    }
    $live = array_filter($grants, fn ($grant) => in_array($grant['state'], ['HELD', 'SOLD'], true));
    return array_values($live)[0] ?? null;
}

function database(): PDO
{
    $at = 'mysql:unix_socket=' . getenv('DATABASE_SOCKET') . ';dbname=shop;charset=utf8mb4';
    return new PDO($at, 'shop', getenv('SHOP_SECRET'), [
        PDO::ATTR_EMULATE_PREPARES => false,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
    ]);
}

function query(PDO $database, string $sql, array $values): PDOStatement
{
    $query = $database->prepare($sql);
    $query->execute($values);
    return $query;
}

/**
 * Who asks. The session is read and let go at once: its file is locked meanwhile, and a second click
 * would have to wait for the first one's answer. Who has no cookie yet is given none.
 */
function account(): ?array
{
    if (!isset($_COOKIE[session_name()])) {
        return null;
    }
    session_start(['read_and_close' => true]);
    return $_SESSION['account'] ?? null;
}

/** The same for what only they may do: by POST, with the token of a page of ours. */
function account_that_posts(): array
{
    $account = account() ?? refuse(401, '请先登录');
    $_SERVER['REQUEST_METHOD'] === 'POST' || refuse(405, '只接受 POST');
    hash_equals($_SESSION['csrf'], word('csrf')) || refuse(403, '页面已过期，请刷新后再试');
    return $account;
}

/** A field of a form; an array or nothing counts as empty. */
function word(string $field): string
{
    $value = $_POST[$field] ?? $_GET[$field] ?? '';
    return is_string($value) ? $value : '';
}

function item(): string
{
    $item = word('item') ?: array_key_first(GOODS);
    return isset(GOODS[$item]) ? $item : refuse(404, '没有这件商品');
}

/** The number of an order, and the REQ of its GRAB. */
function new_order(): string
{
    return bin2hex(random_bytes(16));
}

function refuse(int $status, string $words): never
{
    http_response_code($status);
    answer(['code' => (string) $status, 'say' => $words]);
}

function answer(array $told): never
{
    header('Content-Type: application/json');
    header('Cache-Control: no-store');
    exit(json_encode($told, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR));
}

function go(string $to): never
{
    header("Location: $to", true, 303);
    exit;
}

function h(mixed $text): string
{
    return htmlspecialchars((string) $text, ENT_QUOTES);
}

function yuan(int $fen): string
{
    return '¥' . number_format($fen / 100, 2);
}

/** Signs what travels between the shop and the payment service. */
function sign(string $message): string
{
    return hash_hmac('sha256', $message, getenv('BANK_SECRET'));
}

function page(string $title, ?array $account, Closure $body): void
{
    header('Cache-Control: no-store');
    $csrf = h($_SESSION['csrf'] ?? '');
    echo '<!doctype html><html lang="zh-CN"><meta charset="utf-8"><title>', h($title), '</title>',
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/shop.css">',
        '<script src="/shop.js" defer></script><nav><a href="/">秒杀</a> <a href="/orders.php">我的订单</a> ';
    if ($account === null) {
        echo '<a href="/login.php">登录 / 注册</a>';
    } else {
        echo $account['operator'] ? '<a href="/operator.php">运营</a> ' : '', '<span>', h($account['name']),
            '</span> <form method="post" action="/login.php"><input type="hidden" name="csrf" value="', $csrf,
            '"><button name="leave" value="1">退出</button></form>';
    }
    echo '</nav><main>';
    $body($csrf);
    echo '</main>';
}
