<?php

// What the table of cases can't ask: a server that cannot be reached, and one that answers late, or breaks off where
// PHP does not show the connection; and a process that was forked.

declare(strict_types=1);

require __DIR__ . '/../autoload.php';

use Seckill\Clients;
use Seckill\Durable;
use Seckill\Sale;
use Seckill\Unanswered;

const GRANTED = "*6\r\n$7\r\nGRANTED\r\n:1\r\n:1\r\n$4\r\nSOLD\r\n:0\r\n:14\r\n";
const REPLIES = ['SECKILL.GRAB' => GRANTED, 'INCR' => ":1\r\n", 'WAIT' => ":1\r\n", 'PING' => "+PONG\r\n"];

/** Answers each command of a connection after so many ms; the first connection ends inside the first reply. */
function serve(int $lateMs, int $cut): never
{
    $server = stream_socket_server('tcp://127.0.0.1:0');
    echo strrchr(stream_socket_get_name($server, false), ':'), "\n";
    for ($count = 0; ($socket = stream_socket_accept($server, 60)) !== false; $count++) {
        while (($line = fgets($socket)) !== false) {
            $name = '';
            for ($words = (int) substr($line, 1); $words > 0; $words--) {
                $word = (string) stream_get_contents($socket, (int) substr((string) fgets($socket), 1) + 2);
                $name = $name === '' ? substr($word, 0, -2) : $name;
            }
            usleep(1000 * $lateMs);
            $reply = REPLIES[$name] ?? "+OK\r\n";
            if ($count === 0 && $cut > 0) {
                fwrite($socket, substr($reply, 0, $cut));
                break;
            }
            fwrite($socket, $reply);
        }
        fclose($socket);
    }
    exit;
}

/** Runs with a server, and ends it. */
function over(int $lateMs, int $cut, Closure $run): void
{
    $server = proc_open([PHP_BINARY, __FILE__, 'serve', "$lateMs", "$cut"], [1 => ['pipe', 'w']], $pipes);
    try {
        $run((int) substr((string) fgets($pipes[1]), 1));
    } finally {
        proc_terminate($server);
    }
}

function client(string $kind, int $port): Redis|Predis\Client
{
    if ($kind === 'Predis') {
        return new Predis\Client(['port' => $port, 'timeout' => 0.5]);
    }
    $redis = new Redis();
    $redis->connect('127.0.0.1', $port, 0.5);
    return $redis;
}

function same(mixed $expected, mixed $told, string $what): void
{
    $expected === $told || throw new Exception("$what: " . json_encode($told) . ', not ' . json_encode($expected));
}

function unanswered(string $what, Closure $call): Unanswered
{
    try {
        $call();
    } catch (Unanswered $error) {
        return $error;
    } catch (Throwable $error) {
        throw new Exception("$what: " . get_class($error) . ' ' . $error->getMessage());
    }
    throw new Exception("$what: an answer");
}

function unreachable(string $kind): void
{
    $socket = stream_socket_server('tcp://127.0.0.1:0');
    $port = (int) substr((string) strrchr((string) stream_socket_get_name($socket, false), ':'), 1);
    fclose($socket);
    $sale = fn (?Durable $durable = null) => new Sale(fn () => client($kind, $port), 'sale', $durable, 400, 2);
    $error = unanswered("$kind grab", fn () => $sale()->grab('alice', 'order-1'));
    same(['order-1', 2], [$error->req, $error->lost], "$kind grab");
    $error = unanswered("$kind durable", fn () => $sale(new Durable('mark'))->grab('alice', 'order-1'));
    same(['order-1', 2], [$error->req, $error->lost], "$kind durable");
    $error = unanswered("$kind mgrab", fn () => $sale()->mgrab('alice', ['other'], 'order-1'));
    same('order-1', $error->req, "$kind mgrab");
    $orders = fn () => iterator_to_array($sale()->orders('orders', 'g', 'w', follow: false));
    same('', unanswered("$kind orders", $orders)->req, "$kind orders");
}

/** Two requests of one call, the second with three commands: all in one time. */
function late(string $kind): void
{
    over(450, 0, function (int $port) use ($kind) {
        $sale = new Sale(fn () => client($kind, $port), 'sale', new Durable('mark', 1, 100), 1000, 1);
        $begun = microtime(true);
        same('order-1', unanswered("$kind late", fn () => $sale->grab('alice', 'order-1'))->req, "$kind late");
        same(true, microtime(true) - $begun < 1.3, "$kind late: in time");
    });
}

/** Cut at each byte of the last number. */
function cut(string $kind): void
{
    for ($cut = strlen(GRANTED) - 4; $cut < strlen(GRANTED); $cut++) {
        over(0, $cut, function (int $port) use ($kind, $cut) {
            $answer = (new Sale(fn () => client($kind, $port), 'sale'))->grab('alice', 'order-1');
            same([14, 1], [$answer->available, $answer->lost], "$kind cut after $cut bytes");
        });
    }
}

/** A process that was forked does not use the connection of the other. */
function forked(string $kind): void
{
    over(0, 0, function (int $port) use ($kind) {
        $made = 0;
        $sale = new Sale(function () use ($kind, $port, &$made) {
            $made++;
            return client($kind, $port);
        }, 'sale');
        $sale->grab('alice', 'order-1');
        $sale->grab('alice', 'order-1');
        same(1, $made, "$kind twice in a process");
        (new ReflectionProperty($sale, 'process'))->setValue($sale, -1);
        $sale->grab('alice', 'order-1');
        same(2, $made, "$kind in a forked process");
    });
}

/** Nor does a sale that it makes use the nodes of a cluster that the other has made. */
function forkedCluster(): void
{
    $client = new Predis\Client([['port' => 1, 'slots' => '0-16383']], ['cluster' => 'redis']);
    $client->getConnection()->useClusterSlots(false);
    $first = Clients::of($client, null);
    same(true, $first === Clients::of($client, null), 'the nodes of a cluster are known in a process');
    (new ReflectionProperty(Clients::class, 'process'))->setValue(null, -1);
    same(false, $first === Clients::of($client, null), 'the nodes of a cluster are known in a forked process');
}

if (($argv[1] ?? '') === 'serve') {
    serve((int) $argv[2], (int) $argv[3]);
}
$kinds = ['phpredis' => extension_loaded('redis'), 'Predis' => (@include_once 'Predis/autoload.php') !== false];
!$kinds['Predis'] || forkedCluster();
foreach (array_keys(array_filter($kinds)) as $kind) {
    cut($kind);
    forked($kind);
    if (function_exists('get_resources')) {
        unreachable($kind);
        late($kind);
    }
}
if (function_exists('get_resources')) {
    // Once more without the streams, which PHP does not show of persistent connections.
    passthru(escapeshellarg(PHP_BINARY) . ' -d disable_functions=get_resources ' . escapeshellarg(__FILE__), $status);
    exit($status);
}
