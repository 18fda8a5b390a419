<?php

// The payment service tells that money has come. It tells again until it hears "success", and once
// more when the answer was lost, so all of this may run twice, or twice at the same time.

require __DIR__ . '/../lib/shop.php';

$body = (string) file_get_contents('php://input');
hash_equals(sign($body), $_SERVER['HTTP_X_SIGN'] ?? '') || refuse(403, 'wrong signature');
parse_str($body, $told);

$database = database();
$payment = query($database, 'SELECT * FROM payments WHERE id = ?', [$told['payment'] ?? 0])->fetch();
if ($payment === false || (string) $payment['fen'] !== ($told['fen'] ?? '')) {
    refuse(400, 'no such payment');
}
if ($payment['state'] === 'BEGUN') {
    query($database, 'UPDATE payments SET state = ? WHERE id = ?', [settle($payment), $payment['id']]);
}
exit('success');

/** What came of it. RECLAIM: money that comes late gets a unit if one is free at this moment. */
function settle(array $payment): string
{
    [$sale, $user] = [sale($payment['item']), (string) $payment['account']];
    try {
        $answer = $sale->confirm($user, $payment['req'], reclaim: true);
        if ($answer->outcome === 'NOGRANT') {
            // A GRAB with this order that still comes must find it closed before the money goes back.
            $answer = $sale->cancel($user, $payment['req']);
        }
    } catch (Seckill\Unanswered) {
        refuse(503, 'ask again');
    }
    if ($answer->state === 'SOLD') {
        return 'PAID';
    }
    // It is over for good, also if a unit comes back now: nobody ends up with the money and the unit.
    $bill = http_build_query(['payment' => $payment['id'], 'refund' => 1]);
    $options = ['method' => 'POST', 'header' => 'X-Sign: ' . sign($bill), 'content' => $bill, 'timeout' => 5];
    $heard = @file_get_contents(getenv('SHOP_URL') . '/bank/', false, stream_context_create(['http' => $options]));
    return $heard === 'success' ? 'REFUNDED' : refuse(503, 'ask again');
}
