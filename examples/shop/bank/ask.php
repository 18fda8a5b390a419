<?php

// The bank's list of payments, for a shop that got no callback, and for its comparison of payments.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/messages.php';

$find = 'SELECT payment, fen, state FROM trades WHERE payment BETWEEN ? AND ? ORDER BY payment LIMIT 1000';
answer_trades(query(database(), $find, array_values(received('ask')))->fetchAll());
