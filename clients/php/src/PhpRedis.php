<?php

declare(strict_types=1);

namespace Seckill;

/** @internal */
final class PhpRedis implements Connection
{
    private const OPTIONS = ['SERIALIZER', 'PREFIX', 'READ_TIMEOUT', 'SCAN', 'TCP_KEEPALIVE', 'COMPRESSION',
        'COMPRESSION_LEVEL', 'REPLY_LITERAL', 'NULL_MULTIBULK_AS_NULL', 'MAX_RETRIES', 'BACKOFF_ALGORITHM',
        'BACKOFF_BASE', 'BACKOFF_CAP'];
    /** PHP waits in whole milliseconds, so it may stop a little early. */
    private const READ_PRECISION_S = 0.002;
    /** @var ?\WeakMap<\Redis, array<string, mixed>> addresses and options of clients */
    private static ?\WeakMap $known = null;
    /** @var list<resource> the connections to the client's server, as far as they were looked up */
    private array $streams = [];

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
        $end = self::now() + $seconds;
        // Otherwise phpredis would reconnect after a broken reply and read the rest from the new connection.
        $options = [\Redis::OPT_MAX_RETRIES => 0, \Redis::OPT_READ_TIMEOUT => $seconds];
        if (defined('Redis::OPT_NULL_MULTIBULK_AS_NULL')) {
            // So null always means a reply that broke off.
            $options[\Redis::OPT_NULL_MULTIBULK_AS_NULL] = false;
        }
        $before = [];
        foreach ($options as $option => $value) {
            $before[$option] = $client->getOption($option);
            $client->setOption($option, $value);
        }
        try {
            return array_map(fn (array $command) => $this->one($command, $end), $commands);
        } finally {
            // phpredis reports 0 for no timeout, but setting 0 would mean not to wait at all.
            $before[\Redis::OPT_READ_TIMEOUT] = $before[\Redis::OPT_READ_TIMEOUT]
                ?: (float) ini_get('default_socket_timeout');
            foreach ($before as $option => $value) {
                $client->setOption($option, $value);
            }
        }
    }

    /** @throws \Exception if the reply is late or incomplete */
    private function one(array $command, float $end): mixed
    {
        $before = $this->ended();
        $reply = $this->ask($command, $end);
        // phpredis counts the bytes of a text. Any other last line it takes as it is, whole or not, also when the
        // time to read is over.
        $isWhole = $reply !== null && self::now() < $end - self::READ_PRECISION_S;
        if ($isWhole && self::endsInLine($reply)) {
            $after = $this->ended();
            if ($before === null || $after === null) {
                // Any second reply shows that the first was whole.
                $isWhole = $this->ask(['PING'], $end) !== null;
            } else {
                $isWhole = array_diff($after, $before) === [];
            }
        }
        return $isWhole ? $reply : throw new \UnexpectedValueException('a reply that broke off');
    }

    private function ask(array $command, float $end): mixed
    {
        $left = $end - self::now();
        $left > 0 || throw new \RuntimeException('no time is left');
        $this->client->setOption(\Redis::OPT_READ_TIMEOUT, $left);
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

    /** Whether the last part of the reply is no text, so phpredis did not count its bytes. */
    private static function endsInLine(mixed $reply): bool
    {
        while (is_array($reply) && $reply !== []) {
            $reply = end($reply);
        }
        return !is_string($reply);
    }

    /**
     * The client's connections that have ended: during a call only its own can end. Null if PHP does not show it.
     *
     * @return ?list<int>
     */
    private function ended(): ?array
    {
        if ($this->streams === [] || array_filter($this->streams, is_resource(...)) !== $this->streams) {
            $this->streams = function_exists('get_resources') ? $this->streams() : [];
        }
        $ended = [];
        foreach ($this->streams as $stream) {
            stream_get_meta_data($stream)['eof'] && $ended[] = get_resource_id($stream);
        }
        return $this->streams === [] ? null : $ended;
    }

    /**
     * The connections of this program to the client's server. PHP does not show a persistent one that an earlier
     * request opened.
     *
     * @return list<resource>
     */
    private function streams(): array
    {
        [$host, $port] = [$this->client->getHost(), $this->client->getPort()];
        $streams = [];
        foreach ([...get_resources('stream'), ...get_resources('persistent stream')] as $stream) {
            $isSocket = str_contains(stream_get_meta_data($stream)['stream_type'] ?? '', '_socket');
            $name = $isSocket ? (string) stream_socket_get_name($stream, true) : null;
            // The name of a connection that has ended is not known.
            if ($name === '' || $name === $host || ($port > 0 && str_ends_with((string) $name, ":$port"))) {
                $streams[] = $stream;
            }
        }
        return $streams;
    }

    private static function now(): float
    {
        return hrtime(true) / 1e9;
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
