<?php

// What everybody may see of a sale, and the clock that decides: the sale's own.

require __DIR__ . '/../lib/shop.php';

$status = status(item());
if ($status === null) {
    answer(['state' => 'none', 'say' => '还没有活动']);
}
$shown = ['state', 'supply', 'available', 'held', 'sold', 'now', 'open_at'];
answer(array_intersect_key($status, array_flip($shown)));
