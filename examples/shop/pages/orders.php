<?php

// The orders of an account, from the database of the order writer.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';
require __DIR__ . '/../lib/hall.php';
require __DIR__ . '/../lib/database.php';

const STATES = ['HELD' => '待付款', 'SOLD' => '已付款', 'EXPIRED' => '超时未付款', 'CANCELLED' => '已取消',
    'REFUNDED' => '已退货', 'CLOSED' => '已关闭'];

$account = account() ?? go('/login.php');
$list = 'SELECT s.name, o.id, o.born, o.seq, o.at, o.state, o.req, o.units, p.state AS payment, p.taken
    FROM orders AS o JOIN sales AS s ON s.id = o.id
    LEFT JOIN payments AS p ON p.sale = o.id AND p.account = ? AND p.req = o.req
    WHERE o.user_id = ? ORDER BY o.at DESC LIMIT 100';
$database = database();
$orders = query($database, $list, [$account['id'], (string) $account['id']])->fetchAll();
$codes = codes($database, $account);
$rows = '';
foreach ($orders as $order) {
    $item = substr($order['name'], strlen('sale:'));
    $state = match (true) {
        // An operator returned it; whether its money went back: see docs/shop.md.
        $order['state'] === 'REFUNDED' => t($order['payment'] === 'REFUNDED' ? '已退货，货款已退回' : '已退货'),
        $order['payment'] === 'REFUNDED' => t('已售完，货款已退回'),
        $order['payment'] === 'REFUND' => t('已售完，正在退款'),
        $order['taken'] && $order['state'] !== 'SOLD' => t('已收到付款，正在确认'),
        default => t(STATES[$order['state']]),
    };
    $pay = $order['state'] !== 'HELD' || $order['taken'] ? '' : '<form method="post" action="/pay.php">'
        . fields(['csrf' => csrf(), 'item' => $item, 'order' => $order['req']]) . '<button>' . t('去付款') . '</button></form>';
    $rows .= '<li><span>' . date('m-d H:i:s', intdiv((int) $order['at'], 1000)) . '</span><span>'
        . h(isset(GOODS[$item]) ? t(GOODS[$item]['name']) : $item) . "</span>" . numbered($item, $order, $codes)
        . "<strong>$state</strong>$pay<small>" . h($order['req']) . '</small></li>';
}
page(t('我的订单'), $account, '<h1>' . t('我的订单') . "</h1><ul id=\"orders\">$rows</ul>"
    . ($orders === [] ? '<p>' . t('还没有订单。') . '</p>' : ''));

/**
 * The codes of this account, by order, only for numbers that are in a paid order now. Held, returned or lost numbers
 * show none, because another buyer may get the code.
 */
function codes(PDO $database, array $account): array
{
    $find = 'SELECT CONCAT(o.id, o.born, "-", o.seq), c.code
        FROM orders AS o JOIN units AS u ON u.id = o.id AND u.born = o.born AND u.seq = o.seq
        JOIN codes AS c ON c.sale = u.id AND c.unit = u.number
        WHERE o.user_id = ? AND o.state = "SOLD" AND u.state = "SOLD" AND NOT o.lost ORDER BY u.number';
    return query($database, $find, [(string) $account['id']])->fetchAll(PDO::FETCH_GROUP | PDO::FETCH_COLUMN);
}

/** The seats of an order, or its codes after payment. */
function numbered(string $item, array $order, array $codes): string
{
    $codes = array_map(fn (string $code) => '<code>' . h($code) . '</code>', $codes["$order[id]$order[born]-$order[seq]"] ?? []);
    $seats = isset(GOODS[$item]['row']) ? places($item, json_decode($order['units'] ?? '[]')) : '';
    return $codes === [] && $seats === '' ? '' : '<span class="units">' . $seats . implode(' ', $codes) . '</span>';
}
