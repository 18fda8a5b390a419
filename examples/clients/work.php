<?php
// Runs all commands of the users of redis.conf.example, with phpredis:  work.php HOST:PORT KEY WORK
// Calls that clients/php supports (BUY in the list) go through clients/php.

require __DIR__ . '/../../clients/php/Seckill.php';

use Seckill\Sale;

function connect(string $address, string $user): Redis
{
    [$host, $port] = explode(':', $address);
    $server = new Redis();
    $server->connect($host, (int) $port);
    $server->setOption(Redis::OPT_READ_TIMEOUT, 9);
    $server->auth([$user, "change-me-$user"]);
    must($server->client('setname', "$user-app"), 'a name');
    return $server;
}

function must(bool $holds, string $what): void
{
    if (!$holds) {
        throw new Exception("failed: $what");
    }
}

function buy(Sale $sale): void
{
    $held = [$sale->grab('a', 'o-1'), $sale->grab('b', 'o-2', 2), $sale->grab('c', 'o-3', upto: 2),
        $sale->extend('a', 900_000, 'o-1')];
    must(array_column($held, 'state') === array_fill(0, 4, 'HELD'), 'three orders, one prolonged');
    must($sale->confirm('a', 'o-1')->state === 'SOLD', 'CONFIRM');
    must($sale->cancel('b', 'o-2')->state === 'CANCELLED', 'CANCEL');
    must($sale->user('a')['grants'][0]['req'] === 'o-1', 'USER');
    must($sale->status()['sold'] === 1, 'STATUS');
}

[, $address, $key, $work] = $argv;
$servers = [];
foreach (['shop', 'reader', 'operator', 'monitoring'] as $user) {
    $servers[$user] = connect($address, $user);
}
foreach (file($work, FILE_IGNORE_NEW_LINES) as $line) {
    $call = explode(' ', str_replace('KEY', $key, $line));
    if ($call[1] === 'BUY') {
        buy(new Sale(fn () => connect($address, $call[0]), $call[2]));
        continue;
    }
    $server = $servers[array_shift($call)];
    $server->clearLastError();
    $server->rawCommand(...$call);
    must($server->getLastError() === null, "$line: " . $server->getLastError());
}

$entries = $servers['reader']->xReadGroup('db', 'one', ["$key:orders" => '>']);
$first = array_key_first($entries["$key:orders"]);
must(Sale::decode($entries["$key:orders"][$first])['event'] === 'INIT', 'the first entry');
must($servers['reader']->xAck("$key:orders", 'db', [$first]) === 1, 'XACK');

foreach (['monitoring', 'operator'] as $user) {
    // Another program pauses and resumes a sale all the time, so there are always notifications.
    // phpredis listens until the connection is closed; an exception would not end that.
    $heard = null;
    try {
        $pattern = '__keyevent@*__:seckill.*';
        $servers[$user]->psubscribe([$pattern], function ($server, $pattern, $channel, $message) use (&$heard) {
            $heard = $message;
            $server->close();
        });
    } catch (RedisException $end) {
        must($heard === 'sale:ticker', "$user hears of changes: " . $end->getMessage());
    }
    $servers[$user] = connect($address, $user);
}

$both = $servers['shop']->multi();
foreach (['first', 'second'] as $order) {
    $both->rawCommand('SECKILL.GRAB', $key, 'g', 'REQ', $order);
}
must(array_column($both->exec(), 0) === ['GRANTED', 'GRANTED'], 'both grabs');

// See docs/clients.md: one error of these kinds hides all other replies, although their units were granted.
// phpredis adds no prefix to raw commands.
$both = $servers['shop']->multi();
foreach ([$key, 'sale:none'] as $sale) {
    $both->rawCommand('SECKILL.GRAB', $sale, 'h', 'REQ', 'hidden');
}
try {
    $both->exec();
    must(false, 'one refusal hides all answers');
} catch (RedisException $error) {
    must($error->getMessage() === 'NOSALE no sale at this key (the key is the first argument)', $error->getMessage());
}
$servers['shop']->setOption(Redis::OPT_PREFIX, 'other:');
$again = $servers['shop']->rawCommand('SECKILL.GRAB', $key, 'h', 'REQ', 'hidden');
must($again[0] === 'REPLAY', 'the hidden grant is there, and the key has no prefix');

must($servers['operator']->bgrewriteaof(), 'BGREWRITEAOF');
must($servers['operator']->del($key) === 1, 'DEL');
echo "OK\n";
