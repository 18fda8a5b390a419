<?php

// Settles payments, one duty a process: `confirm` the orders of those that are taken, `refund` until the bank
// says that the money went back, `ask` the bank about bills of which nothing was heard. Every step may be
// done twice, by two workers too, and who comes after one that died finds it in the database again.

require __DIR__ . '/lib/sale.php';
require __DIR__ . '/lib/database.php';
require __DIR__ . '/lib/messages.php';
require __DIR__ . '/lib/worker.php';

/** No bill is paid this long after it lapsed, whatever the bank's clock says. */
const LAPSE_S = 3600;
const REFUND_AGAIN_S = 5;

$duties = [
    'confirm' => ['taken AND state IN ("BEGUN", "LAPSED")', confirm(...)],
    'refund' => ['state = "REFUND" AND due_at <= NOW()', refund(...)],
    'ask' => ['state = "BEGUN" AND NOT taken AND due_at <= NOW()', ask(...)],
];
[$due, $settle] = $duties[$argv[1] ?? ''] ?? exit("worker.php confirm|refund|ask\n");
work_for_ever(function (PDO $database) use ($due, $settle): int {
    $select = 'SELECT *, TIMESTAMPDIFF(SECOND, begun, NOW()) AS age FROM payments';
    $payments = query($database, "$select WHERE $due ORDER BY due_at LIMIT 100")->fetchAll();
    foreach ($payments as $payment) {
        $settle($database, $payment);
    }
    return count($payments);
});

function confirm(PDO $database, array $payment): void
{
    move($database, $payment, is_sold($payment) ? 'PAID' : 'REFUND');
}

/** Whether the order is theirs now. If it is not, it will never be: nobody ends up with the money and the unit. */
function is_sold(array $payment): bool
{
    // Another sale under the same key is another sale: its orders are not paid for by this bill.
    if ((status($payment['item'])['id'] ?? null) !== $payment['sale']) {
        return false;
    }
    [$sale, $user] = [sale($payment['item']), (string) $payment['account']];
    // RECLAIM: money that comes late gets a unit if one is free at this moment.
    $answer = unless_no_sale(fn () => $sale->confirm($user, $payment['req'], reclaim: true));
    if ($answer?->outcome === 'NOGRANT') {
        // A GRAB with this order that still comes must find it closed before the money goes back.
        $answer = unless_no_sale(fn () => $sale->cancel($user, $payment['req']));
    }
    return $answer?->state === 'SOLD';
}

function refund(PDO $database, array $payment): void
{
    $trade = trades('refund', $payment['id'], $payment['fen'])[$payment['id']] ?? null;
    $trade === null ? later($database, $payment, REFUND_AGAIN_S) : move($database, $payment, $trade['state']);
}

/** At ten seconds, and again whenever it is twice as old. */
function ask(PDO $database, array $payment): void
{
    $trades = trades('ask', $payment['id'], $payment['id']);
    $state = $trades[$payment['id']]['state'] ?? null;
    if ($state === 'PAID') {
        query($database, 'UPDATE payments SET taken = TRUE WHERE id = ?', [$payment['id']]);
    } elseif ($state === 'REFUNDED') {
        move($database, $payment, 'REFUND');
    } elseif ($trades === [] && $payment['until'] + LAPSE_S < time()) {
        move($database, $payment, 'LAPSED');
    } else {
        later($database, $payment, $payment['age']);
    }
}

/** From the state that it was read in: another worker may have been here meanwhile. */
function move(PDO $database, array $payment, string $to): void
{
    $move = 'UPDATE payments SET state = ?, due_at = NOW() WHERE id = ? AND state = ?';
    query($database, $move, [$to, $payment['id'], $payment['state']]);
}

function later(PDO $database, array $payment, int $seconds): void
{
    query($database, 'UPDATE payments SET due_at = NOW() + INTERVAL ? SECOND WHERE id = ?', [$seconds, $payment['id']]);
}
