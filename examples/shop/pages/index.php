<?php

// The page of a sale: its name, its opening, its seats if any, and the button. shop.js does the rest.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';
require __DIR__ . '/../lib/hall.php';

$item = item();
$account = account();
$others = '';
foreach (GOODS as $other => $goods) {
    $others .= "<a class=\"goods\" href=\"/?item=$other\">" . t($goods['name']) . '</a> ';
}
$grants = $account === null ? [] : grants_of($account, $item);
$mine = $grants[0]['state'] ?? '';
['limit' => $limit, 'seats' => $seats] = GOODS[$item] + ['limit' => 1, 'seats' => 0];
$answer = match ($mine) {
    'HELD' => t('恭喜，您已抢到，请尽快付款！'),
    'SOLD' => t('恭喜，您已抢到并付款。'),
    default => '',
};
$words = json_encode(['left' => t('距离开始'), 'days' => t('天'), 'again' => t('活动火爆，请再点一次，不会重复下单'),
    'before' => t('还没开始'), 'now' => $seats > 0 ? t('锁定座位') : t('立即抢购'), 'asking' => t('抢购中…'), 'over' => t('已抢光'),
    'choose' => t('请选 1 到 %d 个座位', $limit), 'gone' => t('刚被别人选走'), 'comma' => comma()]);
$button = $account === null ? '<p><a class="button" href="/login.php">' . t('登录后抢购') . '</a></p>'
    : '<button id="grab"' . ($mine === '' || $limit > 1 ? '' : ' hidden') . '>' . ($seats > 0 ? t('锁定座位') : t('立即抢购')) . '</button>';
$map = '';
if ($seats > 0) {
    $map = hall($item, array_merge(...array_map(fn ($grant) => $grant['units'] ?? [], $grants)));
    $counts = array_map(fn (int $n) => "<option value=\"$n\"" . ($n === 2 ? ' selected' : '') . '>' . t('%d 个', $n) . '</option>',
        range(1, $limit));
    $button = '<p id="chosen">' . t('请选 1 到 %d 个座位', $limit) . "</p>$button" . ($account === null ? '' : '<p class="together"><select id="count">'
        . implode($counts) . '</select> <button id="together">' . t('最好的连座') . '</button></p>');
}
// The order number is made here, so repeated clicks are one order.
$data = "data-item=\"$item\" data-order=\"" . new_order() . '" data-csrf="' . csrf() . '" data-words="' . h($words) . '"';
page(t(GOODS[$item]['name']), $account, "$others<section id=\"sale\" $data><h1>" . t(GOODS[$item]['name'])
    . '</h1><p class="price">' . t('秒杀价') . ' ' . yuan(GOODS[$item]['fen']) . '</p><p id="stock">&nbsp;</p>'
    . "<p id=\"clock\">&nbsp;</p>$map<div class=\"buy\">$button<p id=\"answer\" role=\"status\">$answer</p>"
    . '<form id="pay" method="post" action="/pay.php"' . ($mine === 'HELD' ? '' : ' hidden') . '>'
    . fields(['csrf' => csrf(), 'item' => $item, 'order' => '']) . '<button>' . t('去付款') . '</button></form></div></section>');
