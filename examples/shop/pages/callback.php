<?php

// The bank reports a payment. It repeats the report until the answer is "success", and once more if the answer was
// lost. This page only stores the report. The worker does the rest, so the bank does not wait for the shop.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/messages.php';

['payment' => $payment, 'fen' => $fen] = received('paid');
$database = database();
query($database, 'SELECT id FROM payments WHERE id = ? AND fen = ?', [$payment, $fen])->fetch()
    || refuse(400, 'no such payment');
query($database, 'UPDATE payments SET taken = TRUE WHERE id = ?', [$payment]);
exit('success');
