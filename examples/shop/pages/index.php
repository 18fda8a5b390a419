<?php

// The sale: what it is, when it opens, and the button. shop.js does the rest.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';

$item = item();
$account = account();
$others = '';
foreach (GOODS as $other => $goods) {
    $others .= "<a class=\"goods\" href=\"/?item=$other\">" . t($goods['name']) . '</a> ';
}
$mine = $account === null ? '' : grant_of($account, $item)['state'] ?? '';
$answer = match ($mine) {
    'HELD' => t('恭喜，您已抢到，请尽快付款！'),
    'SOLD' => t('恭喜，您已抢到并付款。'),
    default => '',
};
$words = json_encode(['left' => t('距离开始'), 'days' => t('天'), 'again' => t('活动火爆，请再点一次，不会重复下单'),
    'before' => t('还没开始'), 'now' => t('立即抢购'), 'asking' => t('抢购中…'), 'over' => t('已抢光')]);
$button = $account === null ? '<p><a class="button" href="/login.php">' . t('登录后抢购') . '</a></p>'
    : '<button id="grab"' . ($mine === '' ? '' : ' hidden') . '>' . t('立即抢购') . '</button>';
// The order is numbered here, so however often its button is pressed it is one order.
$data = "data-item=\"$item\" data-order=\"" . new_order() . '" data-csrf="' . csrf() . '" data-words="' . h($words) . '"';
page(t(GOODS[$item]['name']), $account, "$others<section id=\"sale\" $data><h1>" . t(GOODS[$item]['name'])
    . '</h1><p class="price">' . t('秒杀价') . ' ' . yuan(GOODS[$item]['fen']) . '</p><p id="stock">&nbsp;</p>'
    . "<p id=\"clock\">&nbsp;</p>$button<p id=\"answer\" role=\"status\">$answer</p>"
    . '<form id="pay" method="post" action="/pay.php"' . ($mine === 'HELD' ? '' : ' hidden') . '>'
    . fields(['csrf' => csrf(), 'item' => $item]) . '<button>' . t('去付款') . '</button></form></section>');
