<?php

// The bank says that a payment has been paid. It says so until it hears "success", and once more when the
// answer was lost. This only writes it down: what follows is the worker's, so nobody waits for anybody.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/messages.php';

['payment' => $payment, 'fen' => $fen] = received('paid');
$database = database();
query($database, 'SELECT id FROM payments WHERE id = ? AND fen = ?', [$payment, $fen])->fetch()
    || refuse(400, 'no such payment');
query($database, 'UPDATE payments SET taken = TRUE WHERE id = ?', [$payment]);
exit('success');
