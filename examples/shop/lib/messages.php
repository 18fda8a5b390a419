<?php

// Messages between the shop and the bank: numbers, signed. Each purpose has a key of its own, and is signed too, so a
// message of one purpose is not valid for another. A process is given the keys of the messages that it sends and
// receives.

declare(strict_types=1);

const MESSAGES = [
    // From the shop, through the buyer's browser: pay this, until then (Unix seconds).
    'bill' => ['payment', 'fen', 'until'],
    // From the bank: this has been paid.
    'paid' => ['payment', 'fen'],
    // From the shop: give this back. Answered as `ask` is.
    'refund' => ['payment', 'fen'],
    // From the shop: what do you know of the payments with these numbers, both included?
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

/** The numbers of the message that this request is; anything else is refused. */
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

/** Sends a message from server to server. The answer, or null if none came or it was a refusal. */
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

/** Asks the bank by `refund` or `ask`. Its trades by payment, or null if it did not answer. */
function trades(string $purpose, int ...$values): ?array
{
    [$sign, $text] = explode("\n", send("/bank/$purpose", $purpose, ...$values) ?? '', 2) + ['', ''];
    $trades = hash_equals(signature('answer', $text), $sign) ? json_decode($text, true, 9, JSON_THROW_ON_ERROR) : null;
    return $trades === null ? null : array_column($trades, null, 'payment');
}
