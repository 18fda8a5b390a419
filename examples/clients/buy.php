<?php
// Buys one unit with phpredis and clients/php:  buy.php HOST:PORT KEY USER ORDER

require __DIR__ . '/../../clients/php/Seckill.php';

use Seckill\{Sale, SaleError, Unanswered};

[, $address, $key, $user, $order] = $argv;
$connect = function () use ($address) {
    [$host, $port] = explode(':', $address);
    $redis = new Redis();
    $redis->connect($host, (int) $port);
    return $redis;
};
try {
    $answer = (new Sale($connect, $key))->grab($user, $order);
    echo $answer->won() ? "$answer->outcome $answer->qty unit, number $answer->seq\n"
        : 'no unit: ' . ($answer->state ?? $answer->outcome) . "\n";
} catch (SaleError $error) {
    fwrite(STDERR, "mistake: {$error->getMessage()}\n");
    exit(1);
} catch (Unanswered $error) {
    fwrite(STDERR, "unknown, ask again with the order $error->req\n");
    exit(1);
}
