<?php

// Refunds a payment to its buyer on the shop's request. A repeated request refunds only once.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/messages.php';

$trade = received('refund');
$database = database();
query($database, 'UPDATE trades SET state = "REFUNDED" WHERE payment = ? AND fen = ?', array_values($trade));
$find = 'SELECT payment, fen, state FROM trades WHERE payment = ? AND fen = ?';
answer_trades(query($database, $find, array_values($trade))->fetchAll() ?: refuse(404, 'no such trade'));
