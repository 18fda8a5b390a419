<?php

// Does for `make clients` what it is told, a JSON object a line, and tells what came of it.

declare(strict_types=1);

require __DIR__ . '/../src/Seckill.php';

use Seckill\Sale;

/** Ids that are not UTF-8 travel in hexadecimal. */
function plain(mixed $value): mixed
{
    if (is_array($value)) {
        return array_map('plain', $value);
    }
    return is_string($value) && preg_match('//u', $value) !== 1 ? ['hex' => bin2hex($value)] : $value;
}

function run(Closure $connect, array $order): mixed
{
    [$call, $key] = [$order['call'], $order['key']];
    $durable = $order['durable'] ?? ['mark' => null, 'replicas' => 1, 'timeout_ms' => 1];
    if ($call === 'outbox') {
        return ['events' => array_map([Sale::class, 'decode'], entries($connect(), $key))];
    }
    unset($order['call'], $order['key'], $order['durable']);
    if (is_array($order['user'] ?? null)) {
        $order['user'] = hex2bin($order['user']['hex']);
    }
    if (isset($order['parts'])) {
        [$part, $key] = Sale::home($key, $order['parts'], $order['user']);
        unset($order['parts']);
        if ($call === 'home') {
            return ['part' => $part];
        }
    }
    $sale = new Sale($connect, $key, $durable['mark'], $durable['replicas'], $durable['timeout_ms']);
    $answer = $sale->$call(...$order);
    if ($answer instanceof Seckill\Answer) {
        $fields = get_object_vars($answer);
        return ['won' => $answer->won(), 'opens_in' => $fields['opensIn']] + $fields;
    }
    if ($answer instanceof Generator) {
        $rows = iterator_to_array($answer, false);
        return ['count' => count($rows), 'first' => $rows[0], 'last' => end($rows)];
    }
    return $answer;
}

/** As maps from phpredis, as flat lists from Predis. */
function entries(Redis|Predis\ClientInterface $client, string $key): array
{
    if ($client instanceof Redis) {
        return array_values($client->xRange($key, '-', '+'));
    }
    $prefix = $client->getOptions()->prefix->getPrefix();
    return array_column($client->executeRaw(['XRANGE', $prefix . $key, '-', '+']), 1);
}

$told = json_decode($argv[1], true);
$connect = function () use ($told) {
    if ($told['flavour'] === 'predis') {
        require_once 'Predis/autoload.php';
        return new Predis\Client(['port' => $told['port']], ['prefix' => $told['prefix']]);
    }
    $redis = new Redis();
    $redis->connect('127.0.0.1', $told['port']);
    $redis->setOption(Redis::OPT_PREFIX, $told['prefix']);
    return $redis;
};
while (($line = fgets(STDIN)) !== false) {
    try {
        $answer = run($connect, json_decode($line, true));
    } catch (Seckill\SaleError $error) {
        $answer = ['error' => 'SaleError', 'code' => $error->errorCode];
    } catch (Seckill\Unanswered $error) {
        $answer = ['error' => 'Unanswered', 'req' => $error->req];
    }
    echo json_encode(plain($answer), JSON_THROW_ON_ERROR), "\n";
}
