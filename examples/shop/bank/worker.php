<?php

// Reports each payment to the shop until the shop has answered "success" twice: real banks also repeat a report after
// a lost answer. Failed reports are retried with longer pauses, up to a minute, and never dropped.

require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/messages.php';
require __DIR__ . '/../lib/worker.php';

const TOLD = 2;

work_for_ever(function (PDO $database): int {
    $due = 'SELECT payment, fen FROM trades WHERE state = "PAID" AND told < ? AND tell_at <= NOW(3)
        ORDER BY tell_at LIMIT 100';
    $trades = query($database, $due, [TOLD])->fetchAll();
    foreach ($trades as $trade) {
        $heard = send('/callback.php', 'paid', $trade['payment'], $trade['fen']) === 'success';
        query($database, $heard ? 'UPDATE trades SET told = told + 1, tries = 0 WHERE payment = ?'
            : 'UPDATE trades SET tell_at = NOW(3) + INTERVAL LEAST(60, POW(2, tries)) SECOND,
                tries = LEAST(tries + 1, 6) WHERE payment = ?', [$trade['payment']]);
    }
    return count($trades);
});
