<?php
// Buys one unit with phpredis:  buy.php HOST:PORT KEY USER ORDER

// Asks for one unit. The order id makes it safe to ask again: it never takes two.
function grab(Redis $server, string $key, string $user, string $order): string
{
    $reply = $server->rawCommand('SECKILL.GRAB', $key, $user, 'REQ', $order);
    if ($reply === false) {
        // Errors that begin with ERR or WRONGTYPE arrive here.
        throw new RedisException($server->getLastError());
    }
    $outcome = $reply[0];
    if (in_array($outcome, ['GRANTED', 'REPLAY', 'ALREADY'], true)) {
        [, $seq, $qty, $state] = $reply;
        $won = in_array($state, ['SOLD', 'HELD'], true);
        return $won ? "$outcome $qty unit, number $seq" : "$outcome but $state";
    }
    return "no unit: $outcome";
}

// phpredis throws one class for a lost connection and for a refusal: the first word tells. A code
// in capitals means that the server refused and took nothing.
function is_refusal(RedisException $error): bool
{
    return preg_match('/^[A-Z]{3,} /', $error->getMessage()) === 1;
}

[, $address, $key, $user, $order] = $argv;
[$host, $port] = explode(':', $address);
try {
    $server = new Redis();
    $server->connect($host, (int) $port);
    echo grab($server, $key, $user, $order), "\n";
} catch (RedisException $error) {
    $prefix = is_refusal($error) ? 'mistake: ' : 'unknown, ask again with the same order id: ';
    fwrite(STDERR, $prefix . $error->getMessage() . "\n");
    exit(1);
}
