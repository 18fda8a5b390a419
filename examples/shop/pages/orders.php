<?php

// The orders of an account, as the order writer has put them into the database.

require __DIR__ . '/../lib/shop.php';

const STATES = ['HELD' => '待付款', 'SOLD' => '已付款', 'EXPIRED' => '超时未付款', 'CANCELLED' => '已取消',
    'REFUNDED' => '已退货', 'CLOSED' => '已关闭'];

$account = account() ?? go('/login.php');
$list = 'SELECT s.name, o.at, o.state, o.req, p.state AS payment
    FROM orders AS o JOIN sales AS s ON s.id = o.id
    LEFT JOIN payments AS p ON p.account = ? AND p.req = o.req AND s.name = CONCAT("sale:", p.item)
    WHERE o.user_id = ? ORDER BY o.at DESC LIMIT 100';
$orders = query(database(), $list, [$account['id'], (string) $account['id']])->fetchAll();
page('我的订单', $account, function (string $csrf) use ($orders) {
    echo '<h1>我的订单</h1><table><tr><th>时间</th><th>商品</th><th>状态</th><th></th></tr>';
    foreach ($orders as $order) {
        $item = substr($order['name'], strlen('sale:'));
        $state = $order['payment'] === 'REFUNDED' ? '已售完，货款已退回' : STATES[$order['state']];
        echo '<tr><td>', date('m-d H:i:s', intdiv((int) $order['at'], 1000)), '</td><td>',
            h(GOODS[$item]['name'] ?? $item), '<br><small>', h($order['req']), '</small></td><td>', $state, '</td><td>';
        if ($order['state'] === 'HELD') {
            echo '<form method="post" action="/pay.php"><input type="hidden" name="csrf" value="', $csrf,
                '"><input type="hidden" name="item" value="', h($item), '"><button>去付款</button></form>';
        }
        echo '</td></tr>';
    }
    echo '</table>', $orders === [] ? '<p>还没有订单。</p>' : '';
});
