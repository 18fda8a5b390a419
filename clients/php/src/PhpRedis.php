<?php

declare(strict_types=1);

namespace Seckill;

/** @internal */
final class PhpRedis implements Connection
{
    private const OPTIONS = ['SERIALIZER', 'PREFIX', 'READ_TIMEOUT', 'SCAN', 'TCP_KEEPALIVE', 'COMPRESSION',
        'COMPRESSION_LEVEL', 'REPLY_LITERAL', 'NULL_MULTIBULK_AS_NULL', 'MAX_RETRIES', 'BACKOFF_ALGORITHM',
        'BACKOFF_BASE', 'BACKOFF_CAP'];
    /** @var ?\WeakMap<\Redis, array<string, mixed>> addresses and options of clients */
    private static ?\WeakMap $known = null;

    public function __construct(private readonly \Redis $client)
    {
        self::$known ??= new \WeakMap();
        if ($client->isConnected()) {
            self::$known[$client] = self::about($client);
        } elseif (isset(self::$known[$client])) {
            $this->revive(self::$known[$client]);
        }
    }

    private static function about(\Redis $client): array
    {
        $options = [];
        foreach (self::OPTIONS as $name) {
            if (defined("Redis::OPT_$name")) {
                $options[constant("Redis::OPT_$name")] = $client->getOption(constant("Redis::OPT_$name"));
            }
        }
        return [
            'to' => [$client->getHost(), $client->getPort(), $client->getTimeout(), null, 0, $client->getReadTimeout()],
            'auth' => $client->getAuth(),
            'database' => $client->getDBNum(),
            'options' => $options,
        ];
    }

    /** Reconnects a framework's shared client, which does not recover by itself after a broken reply. */
    private function revive(array $about): void
    {
        $this->client->connect(...$about['to']);
        foreach ($about['options'] as $option => $value) {
            $this->client->setOption($option, $value);
        }
        $about['auth'] && $this->client->auth($about['auth']);
        $about['database'] > 0 && $this->client->select($about['database']);
    }

    public function send(string $key, array $commands, float $seconds): array
    {
        $client = $this->client;
        // Otherwise phpredis would reconnect after a broken reply and read the rest from the new connection.
        $options = [\Redis::OPT_MAX_RETRIES => 0, \Redis::OPT_READ_TIMEOUT => $seconds];
        $before = [];
        foreach ($options as $option => $value) {
            $before[$option] = $client->getOption($option);
            $client->setOption($option, $value);
        }
        try {
            return array_map($this->one(...), $commands);
        } finally {
            // phpredis reports 0 for no timeout, but setting 0 would mean not to wait at all.
            $before[\Redis::OPT_READ_TIMEOUT] = $before[\Redis::OPT_READ_TIMEOUT]
                ?: (float) ini_get('default_socket_timeout');
            foreach ($before as $option => $value) {
                $client->setOption($option, $value);
            }
        }
    }

    private function one(array $command): mixed
    {
        $this->client->clearLastError();
        try {
            $reply = $this->client->rawCommand(...$command);
            $error = $this->client->getLastError();
        } catch (\RedisException $why) {
            // phpredis returns false for ERR and WRONGTYPE, and throws other errors as for lost connections.
            $error = ErrorReply::is($why->getMessage()) ? $why->getMessage() : throw $why;
        }
        return $error === null ? $reply : new ErrorReply($error);
    }

    public function drop(): void
    {
        $this->client->close();
    }

    public function prefix(): string
    {
        return (string) $this->client->getOption(\Redis::OPT_PREFIX);
    }

    public function isCluster(): bool
    {
        return false;
    }
}
