<?php

// Signed messages between the shop and the bank; all fields are numbers. Each purpose has its own key and is part of
// the signature, so a message is not valid for another purpose. A process has only the keys of the messages that it
// sends and receives.

declare(strict_types=1);

const MESSAGES = [
    // From the shop, through the buyer's browser: a bill that can be paid until a time (Unix seconds).
    'bill' => ['payment', 'fen', 'until'],
    // From the bank: a payment was made.
    'paid' => ['payment', 'fen'],
    // From the shop: refund a payment. The answer is as for `ask`.
    'refund' => ['payment', 'fen'],
    // From the shop: asks for the payments in a range of numbers, both included.
    'ask' => ['from', 'to'],
];

function signature(string $purpose, string $text): string
{
    $key = getenv('KEY_' . strtoupper($purpose)) ?: throw new LogicException("no key for $purpose");
    return hash_hmac('sha256', "$purpose\n$text", $key);
}

/** A message as the fields of a form. */
function signed(string $purpose, int ...$values): array
{
    $fields = array_combine(MESSAGES[$purpose], $values);
    return $fields + ['sign' => signature($purpose, http_build_query($fields))];
}

/** The numbers of the received message; an invalid one is refused. */
function received(string $purpose): array
{
    $fields = [];
    foreach (MESSAGES[$purpose] as $name) {
        $number = filter_var($_POST[$name] ?? null, FILTER_VALIDATE_INT, ['options' => ['min_range' => 0]]);
        $fields[$name] = $number === false ? refuse(400, "$name is no number") : $number;
    }
    $sign = $_POST['sign'] ?? null;
    is_string($sign) && hash_equals(signature($purpose, http_build_query($fields)), $sign)
        || refuse(403, 'wrong signature');
    return $fields;
}

/** Sends a message from server to server. Returns the answer, or null without one or after a refusal. */
function send(string $path, string $purpose, int ...$values): ?string
{
    $http = ['method' => 'POST', 'header' => 'Content-Type: application/x-www-form-urlencoded',
        'content' => http_build_query(signed($purpose, ...$values)), 'timeout' => 3.0];
    $heard = @file_get_contents(getenv('SHOP_URL') . $path, false, stream_context_create(['http' => $http]));
    return $heard === false ? null : $heard;
}

/** The bank's answer to `refund` and `ask`: trades as rows of payment, fen, state. */
function answer_trades(array $trades): never
{
    $text = json_encode($trades, JSON_THROW_ON_ERROR);
    exit(signature('answer', $text) . "\n$text");
}

/** Sends `refund` or `ask` to the bank. Returns trades by payment, or null without an answer. */
function trades(string $purpose, int ...$values): ?array
{
    [$sign, $text] = explode("\n", send("/bank/$purpose", $purpose, ...$values) ?? '', 2) + ['', ''];
    $trades = hash_equals(signature('answer', $text), $sign) ? json_decode($text, true, 9, JSON_THROW_ON_ERROR) : null;
    return $trades === null ? null : array_column($trades, null, 'payment');
}
