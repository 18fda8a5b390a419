<?php

// The goods and their sales. See docs/clients.md for the library.

declare(strict_types=1);

// In your own shop composer installs this file.
require __DIR__ . '/../../../clients/php/Seckill.php';

use Seckill\{Sale, SaleError};

const GOODS = [
    'phone' => ['name' => '星辰 X1 手机', 'fen' => 199900],
    'ticket' => ['name' => '跨年演唱会门票', 'fen' => 68000],
    'coupon' => ['name' => '一元咖啡券', 'fen' => 100],
    // Numbered units (docs/units.md): seats, `row` of them in each row, and codes of the table `codes`.
    'hall' => ['name' => '新年音乐会座位', 'fen' => 28000, 'limit' => 4, 'seats' => 200, 'row' => 10],
    'code' => ['name' => '视频会员月卡', 'fen' => 2500, 'codes' => true],
];
const SALE_STATES = ['pending' => '即将开始', 'open' => '正在抢购', 'allheld' => '全部待付款，可能放出',
    'soldout' => '已抢光', 'paused' => '暂停中', 'closed' => '已结束'];

/** Seconds to wait for Redis. A waiting process serves no other visitor, and the button can be pressed again. */
const PATIENCE_S = 1.0;

/** Connects as a user of redis.conf.example. A page has the password of only one user. */
function redis(): Redis
{
    $redis = new Redis();
    $redis->connect(getenv('REDIS_HOST'), (int) getenv('REDIS_PORT'), PATIENCE_S, null, 0, PATIENCE_S);
    $redis->auth([getenv('REDIS_USER'), getenv('REDIS_PASSWORD')]);
    return $redis;
}

function sale(string $item): Sale
{
    return new Sale(redis(...), "sale:$item", attempts: 2);
}

/** The sale's STATUS, or null before an operator has opened one. */
function status(string $item): ?array
{
    return unless_no_sale(fn () => sale($item)->status());
}

/** The grants of an account, held ones first; with an order's number only that order's. */
function grants_of(array $account, string $item, string $order = ''): array
{
    $grants = unless_no_sale(fn () => sale($item)->user((string) $account['id'])['grants']) ?? [];
    $of = fn (string $state) => array_filter($grants, fn ($grant) => $grant['state'] === $state
        && ($order === '' || $grant['req'] === $order));
    return [...$of('HELD'), ...$of('SOLD')];
}

/** The result of $ask, or null if the sale is missing. */
function unless_no_sale(Closure $ask): mixed
{
    try {
        return $ask();
    } catch (SaleError $error) {
        return $error->errorCode === 'NOSALE' ? null : throw $error;
    }
}

function item(): string
{
    $item = word('item') ?: array_key_first(GOODS);
    return isset(GOODS[$item]) ? $item : refuse(404, t('没有这件商品'));
}

/** The number of an order, and the REQ of its GRAB. */
function new_order(): string
{
    return bin2hex(random_bytes(16));
}
