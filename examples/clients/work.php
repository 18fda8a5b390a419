<?php
// The whole work of every user of redis.conf.example, with phpredis:  work.php HOST:PORT KEY WORK

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

[, $address, $key, $work] = $argv;
$servers = [];
foreach (['shop', 'reader', 'operator', 'monitoring'] as $user) {
    $servers[$user] = connect($address, $user);
}
foreach (file($work, FILE_IGNORE_NEW_LINES) as $line) {
    $call = explode(' ', str_replace('KEY', $key, $line));
    $server = $servers[array_shift($call)];
    $server->clearLastError();
    $server->rawCommand(...$call);
    must($server->getLastError() === null, "$line: " . $server->getLastError());
}

$entries = $servers['reader']->xReadGroup('db', 'one', ["$key:orders" => '>']);
$first = array_key_first($entries["$key:orders"]);
must($servers['reader']->xAck("$key:orders", 'db', [$first]) === 1, 'XACK');

foreach (['monitoring', 'operator'] as $user) {
    // Meanwhile another program pauses and resumes a sale, so there is always something to hear.
    // The library listens until the connection is closed; an exception would not end it.
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

// What docs say of this library: one refusal of these kinds hides the other answers, which were
// given all the same, and a prefix does not reach raw commands.
$both = $servers['shop']->multi();
foreach ([$key, 'sale:none'] as $sale) {
    $both->rawCommand('SECKILL.GRAB', $sale, 'h', 'REQ', 'hidden');
}
try {
    $both->exec();
    must(false, 'one refusal hides all answers');
} catch (RedisException $error) {
    must($error->getMessage() === 'NOSALE no sale at this key', $error->getMessage());
}
$servers['shop']->setOption(Redis::OPT_PREFIX, 'other:');
$again = $servers['shop']->rawCommand('SECKILL.GRAB', $key, 'h', 'REQ', 'hidden');
must($again[0] === 'REPLAY', 'the hidden grant is there, and the key has no prefix');

must($servers['operator']->bgrewriteaof(), 'BGREWRITEAOF');
must($servers['operator']->del($key) === 1, 'DEL');
echo "OK\n";
