<?php

// The sale: what it is, when it opens, and the button. shop.js does the rest.

require __DIR__ . '/../lib/shop.php';

$item = item();
$account = account();
page(GOODS[$item]['name'], $account, function (string $csrf) use ($item, $account) {
    foreach (GOODS as $other => $goods) {
        echo '<a class="goods" href="/?item=', $other, '">', h($goods['name']), '</a> ';
    }
    // The order is numbered here, so however often its button is pressed it is one order.
    echo '<section id="sale" data-item="', $item, '" data-order="', new_order(), '" data-csrf="', $csrf, '">',
        '<h1>', h(GOODS[$item]['name']), '</h1><p class="price">秒杀价 ', yuan(GOODS[$item]['fen']), '</p>',
        '<p id="stock">&nbsp;</p><p id="clock">&nbsp;</p>';
    echo $account === null ? '<p><a class="button" href="/login.php">登录后抢购</a></p>'
        : '<button id="grab">立即抢购</button>';
    $mine = $account === null ? null : grant_of($account, $item);
    $before = match ($mine['state'] ?? '') {
        'HELD' => '恭喜，您已抢到，请尽快付款！',
        'SOLD' => '恭喜，您已抢到并付款。',
        default => '',
    };
    echo '<p id="answer" role="status">', $before, '</p><form id="pay" method="post" action="/pay.php"',
        ($mine['state'] ?? '') === 'HELD' ? '' : ' hidden', '><input type="hidden" name="csrf" value="', $csrf,
        '"><input type="hidden" name="item" value="', $item, '"><button>去付款</button></form></section>';
});
