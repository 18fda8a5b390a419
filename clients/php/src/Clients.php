<?php

declare(strict_types=1);

namespace Seckill;

use Predis\ClientInterface;

/** @internal Makes a Connection of the application's client. */
final class Clients
{
    /** @var ?\WeakMap<object, Cluster> shared by all sales of a process */
    private static ?\WeakMap $clusters = null;
    /** The process that has made them. */
    private static int|false|null $process = null;

    /** @param ?\Closure(string, int): \Redis $node a connection to a node of a \RedisCluster */
    public static function of(mixed $client, ?\Closure $node): Connection
    {
        if (self::$process !== self::process()) {
            // Also a sale that is made after a fork must not use the connections of the other process.
            [self::$clusters, self::$process] = [new \WeakMap(), self::process()];
        }
        if ($client instanceof \Redis) {
            return new PhpRedis($client);
        }
        if ($client instanceof \RedisCluster) {
            return self::$clusters[$client] ??= self::redisCluster($client, $node);
        }
        if (!$client instanceof ClientInterface) {
            throw new \TypeError('a client of phpredis or Predis is needed, not ' . get_debug_type($client));
        }
        $prefix = (string) $client->getOptions()->prefix?->getPrefix();
        $connection = $client->getConnection();
        if (method_exists($connection, 'getClusterStrategy')) {
            return self::$clusters[$client] ??= self::predisCluster($connection, $prefix);
        }
        $single = method_exists($connection, 'getMaster') ? $connection->getMaster() : $connection;
        // Otherwise the current primary would be kept forever.
        $forget = method_exists($connection, 'getSentinelConnection') ? $connection->remove(...) : null;
        return new PredisNode($single, $prefix, $forget);
    }

    /** The number of this process; false where PHP does not tell it. */
    public static function process(): int|false
    {
        return function_exists('getmypid') ? getmypid() : false;
    }

    /** A \RedisCluster does not show its login, and can't send an unknown command to the node of an ASK reply. */
    private static function redisCluster(\RedisCluster $client, ?\Closure $node): Cluster
    {
        $node ??= static function (string $host, int $port): \Redis {
            $redis = new \Redis();
            $redis->connect($host, $port, 1.0);
            return $redis;
        };
        $seeds = array_map(fn (array $at) => "$at[0]:$at[1]", $client->_masters());
        $open = fn (string $host, int $port) => new PhpRedis($node($host, $port));
        return new Cluster($seeds, $open, (string) $client->getOption(\Redis::OPT_PREFIX));
    }

    private static function predisCluster(object $cluster, string $prefix): Cluster
    {
        $known = null;
        $seeds = [];
        foreach ($cluster as $node) {
            $known ??= $node->getParameters()->toArray();
            $seeds[] = $node->getParameters()->host . ':' . $node->getParameters()->port;
        }
        unset($known['slots'], $known['alias']);
        $factory = $cluster->getConnectionFactory();
        $open = function (string $host, int $port) use ($factory, $known) {
            return new PredisNode($factory->create(['host' => $host, 'port' => $port] + (array) $known));
        };
        return new Cluster($seeds, $open, $prefix);
    }
}
