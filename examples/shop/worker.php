<?php

// Settles payments, with one task for each process. `confirm` confirms the orders of paid bills, `refund` repeats a
// refund until the bank reports it as done, `ask` asks the bank about bills without a callback. Every step can be
// repeated, also by two workers at once. After a crash another worker finds the step in the database.

require __DIR__ . '/lib/sale.php';
require __DIR__ . '/lib/database.php';
require __DIR__ . '/lib/messages.php';
require __DIR__ . '/lib/worker.php';

/** Seconds after the end of a bill in which the bank may still accept it, because clocks differ. */
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
    move($database, $payment, is_sold($database, $payment) ? 'PAID' : 'REFUND');
}

/** Whether the order is sold now. If not, it never will be, so that no buyer gets both the unit and a refund. */
function is_sold(PDO $database, array $payment): bool
{
    [$sale, $user] = [sale($payment['item']), (string) $payment['account']];
    // An old bill must not pay for an order of a new sale at this key.
    $answer = (status($payment['item'])['id'] ?? null) !== $payment['sale'] ? null
        // RECLAIM: a late payment gets a unit if one is free now.
        : unless_no_sale(fn () => $sale->confirm($user, $payment['req'], reclaim: true));
    // A refusal is for good: seckill orders will read it, and have the order as EXPIRED if it was SOLD.
    if ($answer?->state === 'EXPIRED') {
        return false;
    }
    if ($answer?->state === 'SOLD' || is_written_as_sold($database, $payment)) {
        return true;
    }
    if ($answer?->outcome === 'NOGRANT') {
        // A fence, so that a delayed GRAB of this order can't win after the refund.
        $answer = unless_no_sale(fn () => $sale->cancel($user, $payment['req']));
    }
    return $answer?->state === 'SOLD';
}

/**
 * Whether the order is SOLD in the database. Redis may have lost it in a failover, after an earlier confirm() that
 * could not write PAID. Then seckill orders will IMPORT it, whatever we CANCEL, so its money must not go back.
 */
function is_written_as_sold(PDO $database, array $payment): bool
{
    // Waits for a transaction of the order writer, which locks this row first.
    query($database, 'SELECT id FROM sales WHERE id = ? LOCK IN SHARE MODE', [$payment['sale']])->fetch();
    $find = 'SELECT state FROM orders WHERE id = ? AND user_id = ? AND req = ? AND state IN ("SOLD", "REFUNDED")
        ORDER BY epoch DESC, rev DESC LIMIT 1';
    $order = [$payment['sale'], (string) $payment['account'], $payment['req']];
    return query($database, $find, $order)->fetchColumn() === 'SOLD';
}

function refund(PDO $database, array $payment): void
{
    $trade = trades('refund', $payment['id'], $payment['fen'])[$payment['id']] ?? null;
    $trade === null ? later($database, $payment, REFUND_AGAIN_S) : move($database, $payment, $trade['state']);
}

/** Asks the bank after ten seconds, and again each time the bill's age has doubled. */
function ask(PDO $database, array $payment): void
{
    $trades = trades('ask', $payment['id'], $payment['id']);
    $trade = $trades[$payment['id']] ?? null;
    // Another amount pays for nothing, as in callback.php. The books show it in red.
    $state = ($trade['fen'] ?? null) === $payment['fen'] ? $trade['state'] : null;
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

/** Changes the state only from the one that was read, because another worker may have changed it. */
function move(PDO $database, array $payment, string $to): void
{
    $move = 'UPDATE payments SET state = ?, due_at = NOW() WHERE id = ? AND state = ?';
    query($database, $move, [$to, $payment['id'], $payment['state']]);
}

function later(PDO $database, array $payment, int $seconds): void
{
    query($database, 'UPDATE payments SET due_at = NOW() + INTERVAL ? SECOND WHERE id = ?', [$seconds, $payment['id']]);
}
