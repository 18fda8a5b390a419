<?php

// Executes for `make clients` one call for each JSON line on stdin, and prints the result as a JSON line: see
// clients/cases.md.

declare(strict_types=1);

require __DIR__ . '/../' . (getenv('SECKILL_ONE_FILE') ? 'Seckill.php' : 'autoload.php');

use Seckill\Sale;

/** A value for the runner: ids that are not UTF-8 in hexadecimal, names as in clients/README.md. */
function plain(mixed $value): mixed
{
    if ($value instanceof Seckill\Answer || $value instanceof Seckill\MultiAnswer) {
        $value = ['won' => $value->won()] + get_object_vars($value);
    }
    if (is_array($value)) {
        $told = [];
        foreach ($value as $name => $field) {
            $snake = is_string($name) ? strtolower(preg_replace('/[A-Z]/', '_$0', $name)) : $name;
            $told[$snake] = $name === 'data' ? $field : plain($field);
        }
        return $told;
    }
    return is_string($value) && preg_match('//u', $value) !== 1 ? ['hex' => bin2hex($value)] : $value;
}

function raw(mixed $value): mixed
{
    return is_array($value) ? hex2bin($value['hex']) : $value;
}

function run(Closure $connect, array $order, Closure $hook): mixed
{
    [$call, $key] = [$order['call'], $order['key']];
    if ($call === 'answer') {
        return Sale::answer($order['reply']);
    }
    if ($call === 'outbox') {
        return ['events' => array_map([Sale::class, 'decode'], entries($connect(), $key))];
    }
    $options = ['onAttempt' => $hook];
    foreach (['timeout_ms' => 'timeoutMs', 'attempts' => 'attempts'] as $name => $option) {
        isset($order[$name]) && $options[$option] = $order[$name];
    }
    if (isset($order['durable'])) {
        ['mark' => $mark, 'replicas' => $replicas, 'timeout_ms' => $ms] = $order['durable'];
        $options['durable'] = new Seckill\Durable($mark, $replicas, $ms);
    }
    $connect = ($order['client'] ?? '') === 'none' ? fn () => new stdClass() : $connect;
    foreach (['user', 'req'] as $name) {
        array_key_exists($name, $order) && $order[$name] = raw($order[$name]);
    }
    if (isset($order['parts'])) {
        [$part, $key] = Sale::home($key, $order['parts'], $order['user']);
        if ($call === 'home') {
            return ['part' => $part];
        }
    }
    $sale = new Sale($connect, $key, ...$options);
    if ($call === 'orders') {
        return orders($sale, $order);
    }
    unset($order['call'], $order['key'], $order['durable'], $order['timeout_ms'], $order['attempts']);
    unset($order['client'], $order['parts']);
    if (array_key_exists('until_ms', $order)) {
        $order['untilMs'] = $order['until_ms'];
        unset($order['until_ms']);
    }
    $answer = $sale->$call(...$order);
    if ($answer instanceof Generator) {
        $rows = iterator_to_array($answer, false);
        return ['count' => count($rows), 'first' => $rows[0], 'last' => end($rows)];
    }
    return $call === 'units' ? ['units' => $answer] : $answer ?? [];
}

function orders(Sale $sale, array $order): array
{
    $events = [];
    $idle = $order['idle_ms'] ?? 60_000;
    foreach ($sale->orders($order['key'], $order['group'], $order['name'], $idle, follow: false) as $one) {
        $events[] = $one->event;
        ($order['ack'] ?? false) && $one->ack();
    }
    return ['events' => $events];
}

/** Entries as maps: phpredis returns maps, Predis flat lists. */
function entries(Redis|Predis\ClientInterface $client, string $key): array
{
    if ($client instanceof Redis) {
        return array_values($client->xRange($key, '-', '+'));
    }
    $prefix = $client->getOptions()->prefix->getPrefix();
    return array_column($client->executeRaw(['XRANGE', $prefix . $key, '-', '+']), 1);
}

$told = json_decode($argv[1], true);
$client = null;
$connect = function () use ($told, &$client) {
    ['port' => $port, 'prefix' => $prefix, 'on' => $on] = $told;
    // One client for all callers, as in a framework's container. phpredis can't find a primary by itself.
    if ($client !== null && ($on !== 'sentinel' || $client instanceof Predis\Client)) {
        return $client;
    }
    if ($told['flavour'] === 'predis') {
        require_once 'Predis/autoload.php';
        return $client = match ($on) {
            'single' => new Predis\Client(['port' => $port], ['prefix' => $prefix]),
            'sentinel' => new Predis\Client(
                ["tcp://127.0.0.1:$port"],
                ['replication' => 'sentinel', 'service' => 'mymaster', 'prefix' => $prefix]
            ),
            'cluster' => new Predis\Client(["tcp://127.0.0.1:$port"], ['cluster' => 'redis', 'prefix' => $prefix]),
        };
    }
    if ($on === 'cluster') {
        $client = new RedisCluster(null, ["127.0.0.1:$port"], 1.0, 1.0);
    } else {
        [$host, $at] = $on === 'sentinel'
            ? (new RedisSentinel('127.0.0.1', $port))->getMasterAddrByName('mymaster')
            : ['127.0.0.1', $port];
        $client = new Redis();
        $client->connect($host, (int) $at);
    }
    $client->setOption(Redis::OPT_PREFIX, $prefix);
    return $client;
};
while (($line = fgets(STDIN)) !== false) {
    $attempts = [];
    $hook = function (string $name, string $outcome, int $lost, float $ms) use (&$attempts) {
        $attempts[] = [$name, $outcome, $lost];
    };
    try {
        $answer = (array) plain(run($connect, json_decode($line, true), $hook));
    } catch (Seckill\SaleError $error) {
        $answer = ['error' => 'SaleError', 'code' => $error->errorCode];
    } catch (Seckill\Unanswered $error) {
        $answer = ['error' => 'Unanswered', 'req' => $error->req, 'lost' => $error->lost,
            'why' => $error->getMessage()];
    } catch (TypeError $error) {
        $answer = ['error' => 'TypeError', 'why' => $error->getMessage()];
    }
    echo json_encode($answer + ['attempts' => $attempts], JSON_THROW_ON_ERROR), "\n";
}
