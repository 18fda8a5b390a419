<?php

// The public state of a sale, and its server's clock.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';

$item = item();
$status = status($item) ?? answer(['state' => 'none', 'say' => '', 'stock' => t('还没有活动')]);
['supply' => $supply, 'available' => $available, 'held' => $held, 'sold' => $sold] = $status;
$stock = t('剩余 %d / %d，待付款 %d，已售 %d', $available, $supply, $held, $sold);
$shown = array_intersect_key($status, ['state' => 1, 'available' => 1, 'now' => 1, 'open_at' => 1]);
// For a hall the state of each seat, for browsers without the event stream.
if (isset(GOODS[$item]['seats'])) {
    $shown['units'] = unless_no_sale(fn () => sale($item)->units(1, GOODS[$item]['seats']));
}
answer($shown + ['say' => t(SALE_STATES[$status['state']]), 'stock' => $stock]);
