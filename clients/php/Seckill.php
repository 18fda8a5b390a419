<?php

// The whole library in one file, to be copied into a shop without Composer. Written from
// clients/php/src by `make docs`: change those files, not this one.
//
// Buys from seckill, a Redis module for flash sales, with phpredis or Predis. A call returns an
// answer, won or not. SaleError: the server refused the call and changed nothing. Unanswered: the
// outcome is unknown, so send the call again with its req, which never takes units twice. See
// docs/clients.md.

declare(strict_types=1);

namespace Seckill;

use Predis\ClientInterface;
use Predis\Command\RawCommand;
use Predis\Connection\NodeConnectionInterface;
use Predis\Response\ErrorInterface;

/** @internal A client of one of the libraries. */
interface Connection
{
    /** Codes of a server that is not the primary, or not ready yet. */
    public const DROPPING = ['READONLY', 'LOADING', 'MASTERDOWN'];

    /**
     * Sends commands over one connection to the key's node. Returns the replies in order, errors as ErrorReply.
     *
     * @param list<list<string|int>> $commands
     * @return list<mixed>
     * @throws \Throwable if a reply is late or incomplete
     */
    public function send(string $key, array $commands, float $seconds): array;

    /** Closes the connection, so that a late reply is not read as the reply to another call. */
    public function drop(): void;

    /** The client's key prefix, which it does not add to unknown commands. */
    public function prefix(): string;

    public function isCluster(): bool;
}

/**
 * One sale. For a null or empty REQ, `grab`, `wait` and `mgrab` make a new one; in other calls it means the
 * user's only grant. All calls throw SaleError and Unanswered.
 *
 * @phpstan-type Row array{seq: int, user: string, qty: int, state: string, atMs: int, deadlineMs: int, req: ?string,
 *     epoch: int, round: int, units: ?list<int>}
 */
interface SaleInterface
{
    /**
     * Asks for units. All attempts have one REQ: the order's, or a new one.
     *
     * @param ?list<int> $units in a sale with NUMBERED: exactly these numbers
     * @param bool $adjacent in a sale with NUMBERED: consecutive numbers
     */
    public function grab(
        string $user,
        ?string $req = null,
        ?int $qty = null,
        ?int $upto = null,
        ?array $units = null,
        bool $adjacent = false,
    ): Answer;

    /** Grabs, or joins the waiting list if nothing is left. */
    public function wait(string $user, ?string $req = null, ?int $qty = null, ?int $untilMs = null): Answer;

    /**
     * $keep, here and below: this many units, or the units with these numbers, stay; the others are returned.
     *
     * @param int|list<int>|null $keep
     */
    public function confirm(
        string $user,
        ?string $req = null,
        bool $reclaim = false,
        int|array|null $keep = null,
    ): Answer;

    /** @param int|list<int>|null $keep */
    public function cancel(string $user, ?string $req = null, int|array|null $keep = null): Answer;

    public function extend(string $user, int $ms, ?string $req = null): Answer;

    /** @param int|list<int>|null $keep */
    public function refund(string $user, ?string $req = null, int|array|null $keep = null): Answer;

    /**
     * Units of this sale and of others in its slot, all or none.
     *
     * @param list<string> $others
     * @param int|list<int>|null $qty one for all sales, or a list
     */
    public function mgrab(string $user, array $others, ?string $req = null, int|array|null $qty = null): MultiAnswer;

    /** @return array<string, mixed> */
    public function status(): array;

    /** A character for each number from the first on: '.' free, 'h' held, 's' sold. */
    public function units(int $first = 1, int $count = 1000): string;

    /** @return ?Row the grant that has this number */
    public function unit(int $unit): ?array;

    /** @return array{allowance: int, admission: string, grants: list<Row>} an allowance of -1 means no limit */
    public function user(string $user): array;

    /** @return ?array{ticket: int, ahead: int, unitsAhead: int} null if the user is not on the waiting list */
    public function place(string $user): ?array;

    /** @return \Generator<int, Row> */
    public function winners(string $state = 'LIVE', int $after = 0): \Generator;

    /** @return \Generator<int, Order> the entries of this sale's outbox, for a worker */
    public function orders(
        string $stream,
        string $group,
        string $name,
        int $idleMs = 60_000,
        int $blockMs = 1000,
        bool $follow = true,
    ): \Generator;
}

/** The reply to a call. Fields that the outcome lacks are null. Times are Unix milliseconds. */
final class Answer
{
    public function __construct(
        public readonly string $req,
        /** The first word: the outcome of a grab, or the grant's state after another call. */
        public readonly string $outcome,
        public readonly ?string $state = null,
        public readonly ?int $seq = null,
        public readonly ?int $qty = null,
        public readonly ?int $deadlineMs = null,
        public readonly ?int $available = null,
        public readonly ?int $held = null,
        public readonly ?int $allowance = null,
        public readonly ?int $opensInMs = null,
        public readonly ?int $ticket = null,
        public readonly ?int $ahead = null,
        public readonly ?int $unitsAhead = null,
        public readonly ?int $unit = null,
        /** @var ?list<int> the grant's numbers; null in a sale without NUMBERED */
        public readonly ?array $units = null,
        /** Attempts without a reply. After a refusal one of them may still arrive: cancel. */
        public readonly int $lost = 0,
        public readonly ?bool $durable = null,
    ) {
    }

    public function won(): bool
    {
        return in_array($this->state, ['HELD', 'SOLD'], true);
    }

    /** The outcome, for a `match` over all words. */
    public function kind(): Outcome
    {
        return Outcome::from($this->outcome);
    }
}

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

/** @internal The nodes of a cluster, with its own slot map. */
final class Cluster implements Connection
{
    private const REDIRECTS = 5;
    /** @var array<string, Connection> by host:port */
    private array $nodes = [];
    /** @var list<array{int, int, string}> from slot, to slot, host:port */
    private array $ranges = [];

    /**
     * @param list<string> $seeds host:port of some nodes
     * @param \Closure(string, int): Connection $open
     */
    public function __construct(
        private array $seeds,
        private readonly \Closure $open,
        private readonly string $prefix,
    ) {
    }

    public function send(string $key, array $commands, float $seconds): array
    {
        $end = microtime(true) + $seconds;
        $slot = Slots::of($key);
        [$place, $asking] = [$this->owner($slot, $end), false];
        for ($redirect = 0;; $redirect++) {
            $replies = $this->exchange($place, $commands, $end, $asking);
            $code = $replies[0] instanceof ErrorReply ? $replies[0]->code() : '';
            $asking = $code === 'ASK';
            if (!in_array($code, ['MOVED', 'ASK'], true) || $redirect === self::REDIRECTS) {
                return $replies;
            }
            preg_match('/^(?:MOVED|ASK) \d+ (.*:\d+)$/', $replies[0]->message, $words) === 1
                || throw new \UnexpectedValueException('a reply that broke off');
            $told = $words[1];
            // An empty host is that of the asked node.
            $place = strrpos($told, ':') === 0 ? self::host($place) . $told : $told;
            $code === 'MOVED' && array_unshift($this->ranges, [$slot, $slot, $place]);
        }
    }

    private function exchange(string $place, array $commands, float $end, bool $asking = false): array
    {
        $sent = [];
        foreach ($commands as $command) {
            array_push($sent, ...($asking ? [['ASKING'], $command] : [$command]));
        }
        if (!isset($this->nodes[$place])) {
            $port = (int) substr((string) strrchr($place, ':'), 1);
            $this->nodes[$place] = ($this->open)(self::host($place), $port);
        }
        $replies = $this->nodes[$place]->send('', $sent, max($end - microtime(true), 0.001));
        // The reply to ASKING comes before each reply.
        return $asking ? array_column(array_chunk($replies, 2), 1) : $replies;
    }

    private static function host(string $place): string
    {
        return substr($place, 0, (int) strrpos($place, ':'));
    }

    /** The node of a slot. If it is unknown, asks one node after the other. */
    private function owner(int $slot, float $end): string
    {
        $found = fn () => current(array_filter($this->ranges, fn ($range) => $range[0] <= $slot && $slot <= $range[1]));
        $why = new \RuntimeException('no node of the cluster is known');
        // A node that is cut off from the others still names the owner of yesterday: not always the same one.
        shuffle($this->seeds);
        foreach ($found() ? [] : $this->seeds as $at => $seed) {
            try {
                $part = microtime(true) + ($end - microtime(true)) / (count($this->seeds) - $at);
                $told = $this->exchange($seed, [['CLUSTER', 'SLOTS']], $part)[0];
                if (!is_array($told)) {
                    throw new \RuntimeException($told instanceof ErrorReply ? $told->message : 'no map');
                }
                $place = fn (array $node) => ($node[0] ?: self::host($seed)) . ':' . $node[1];
                $this->ranges = array_map(fn (array $row) => [$row[0], $row[1], $place($row[2])], $told);
                if ($found()) {
                    break;
                }
            } catch (\Exception $error) {
                $this->close($seed);
                $why = $error;
            }
        }
        $range = $found() ?: throw $why;
        $this->seeds = array_values(array_unique([...array_column($this->ranges, 2), ...$this->seeds]));
        return $range[2];
    }

    private function close(string $place): void
    {
        try {
            ($this->nodes[$place] ?? null)?->drop();
        } catch (\Exception) {
            // The connection was closed already.
        }
        unset($this->nodes[$place]);
    }

    public function drop(): void
    {
        $this->ranges = [];
        array_map($this->close(...), array_keys($this->nodes));
    }

    public function prefix(): string
    {
        return $this->prefix;
    }

    public function isCluster(): bool
    {
        return true;
    }
}

/** Makes answers say whether this many replicas have the grant; the mark is the key of a counter. */
final class Durable
{
    public function __construct(
        public readonly string $mark,
        public readonly int $replicas = 1,
        public readonly int $timeoutMs = 1000,
    ) {
    }
}

/** @internal An error that the server replied. */
final class ErrorReply
{
    public function __construct(public readonly string $message)
    {
    }

    public function code(): string
    {
        return explode(' ', $this->message, 2)[0];
    }

    /** Whether a server without a free connection says so. It has executed nothing. */
    public static function isFull(string $message): bool
    {
        return str_starts_with($message, 'ERR max number of clients');
    }

    /** Whether it passes although it begins with ERR: after an internal error nobody knows what was executed. */
    public static function passes(string $message): bool
    {
        return self::isFull($message) || str_starts_with($message, 'ERR internal error');
    }

    /** Whether the message is a server's error, not a library's about a lost connection. */
    public static function is(string $message): bool
    {
        return preg_match('/^[A-Z]{3,}( |$)/', $message) === 1;
    }
}

/** The reply to MGRAB: a grant for each sale, or the first refusing sale with its answer. */
final class MultiAnswer
{
    public function __construct(
        public readonly string $req,
        /** GRANTED, REPLAY or REFUSED. */
        public readonly string $outcome,
        /** @var list<Answer> */
        public readonly array $grants = [],
        public readonly ?int $index = null,
        public readonly ?Answer $refusal = null,
        public readonly int $lost = 0,
        public readonly ?bool $durable = null,
    ) {
    }

    public function won(): bool
    {
        $won = array_filter($this->grants, fn (Answer $grant) => $grant->won());
        return $won !== [] && count($won) === count($this->grants);
    }
}

/**
 * An entry for a worker. A repeated entry has an equal (id, epoch, rev) in its data.
 *
 * @phpstan-type Event array{event: string, sale: string, data: array<string, mixed>, user: ?string, req: ?string,
 *     outbox: ?string, split: ?string}
 */
final class Order
{
    public function __construct(
        public readonly string $id,
        /** @var ?Event null if it was trimmed before anybody acknowledged it, or if another program wrote it */
        public readonly ?array $event,
        private readonly \Closure $acknowledge,
    ) {
    }

    /** Acknowledges the entry after the work. */
    public function ack(): void
    {
        ($this->acknowledge)($this->id);
    }
}

/** The first word of a reply: the outcome of a grab, or the state of a grant. */
enum Outcome: string
{
    case Granted = 'GRANTED';
    case Already = 'ALREADY';
    case Replay = 'REPLAY';
    case Overlimit = 'OVERLIMIT';
    case Soldout = 'SOLDOUT';
    case Short = 'SHORT';
    case Notopen = 'NOTOPEN';
    case Closed = 'CLOSED';
    case Paused = 'PAUSED';
    case Denied = 'DENIED';
    case Busy = 'BUSY';
    case Waiting = 'WAITING';
    case Taken = 'TAKEN';
    case Held = 'HELD';
    case Sold = 'SOLD';
    case Cancelled = 'CANCELLED';
    case Expired = 'EXPIRED';
    case Refunded = 'REFUNDED';
    case Nogrant = 'NOGRANT';
}

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

/** @internal One server, also one that Predis found through Sentinel. */
final class PredisNode implements Connection
{
    /** @param ?\Closure(NodeConnectionInterface): mixed $forget removes a node that is no longer the primary */
    public function __construct(
        private readonly NodeConnectionInterface $node,
        private readonly string $prefix = '',
        private readonly ?\Closure $forget = null,
    ) {
    }

    public function send(string $key, array $commands, float $seconds): array
    {
        $end = microtime(true) + $seconds;
        $sent = array_map(fn (array $words) => RawCommand::create(...$words), $commands);
        foreach ($sent as $command) {
            $this->limit($end - microtime(true));
            $this->node->writeRequest($command);
        }
        $replies = [];
        foreach ($sent as $command) {
            $this->limit($end - microtime(true));
            $reply = $this->node->readResponse($command);
            $this->isWhole() || throw new \UnexpectedValueException('a reply that broke off');
            $replies[] = $reply instanceof ErrorInterface ? new ErrorReply($reply->getMessage()) : $reply;
        }
        // The read timeout of the client's options.
        $before = $this->node->getParameters()->read_write_timeout ?? (float) ini_get('default_socket_timeout');
        $this->limit($before > 0 ? (float) $before : 1e6);
        return $replies;
    }

    /** Predis takes a last line for whole, also where the connection or the time to read has ended in it. */
    private function isWhole(): bool
    {
        $stream = $this->node->getResource();
        $about = is_resource($stream) ? stream_get_meta_data($stream) : ['eof' => false, 'timed_out' => false];
        return !$about['eof'] && !$about['timed_out'];
    }

    /** Sets the timeout of the next read. */
    private function limit(float $seconds): void
    {
        $seconds = max($seconds, 0.001);
        if (is_resource($stream = $this->node->getResource())) {
            stream_set_timeout($stream, (int) $seconds, (int) (fmod($seconds, 1) * 1e6));
        }
    }

    public function drop(): void
    {
        $this->node->disconnect();
        $this->forget !== null && ($this->forget)($this->node);
    }

    public function prefix(): string
    {
        return $this->prefix;
    }

    public function isCluster(): bool
    {
        return false;
    }
}

/** @internal Reads pending entries of this name first, then old pending ones of others, then new ones. */
final class Reader
{
    private const COUNT = 100;
    /** The last returned one of this name's pending entries; null if none is left. */
    private ?string $last = '0';
    /** The cursor of XAUTOCLAIM; null if it is not due. */
    private ?string $claim = '0-0';
    private float $claimedAt;
    private string $given = '0';
    /** @var array<string, true> */
    private array $trimmed = [];

    /**
     * @param \Closure(list<string|int|\Closure>, int): array{mixed, int} $call sends a command that may block for
     *     some ms; returns its reply, and the attempts that were lost before
     * @param \Closure(): string $stream the stream's key
     */
    public function __construct(
        private readonly \Closure $call,
        private readonly \Closure $stream,
        private readonly string $group,
        private readonly string $name,
        private readonly int $idleMs,
        private readonly ?int $blockMs,
    ) {
        $this->claimedAt = microtime(true);
    }

    public function ack(string $id): void
    {
        ($this->call)(['XACK', $this->stream, $this->group, $id], 0);
    }

    /** @return array<string, ?array> the next entries by their ids; empty if there are none now */
    public function batch(): array
    {
        while (true) {
            try {
                return $this->pending() ?: $this->left() ?: $this->new();
            } catch (SaleError $error) {
                $error->errorCode === 'NOGROUP' || throw $error;
                $this->makeGroup();
            } catch (Unanswered $error) {
                $this->blockMs !== null || throw $error;
                // Entries of the lost reply are now pending for this name.
                $this->last = $this->given;
            }
        }
    }

    private function makeGroup(): void
    {
        try {
            ($this->call)(['XGROUP', 'CREATE', $this->stream, $this->group, '0', 'MKSTREAM'], 0);
        } catch (SaleError $error) {
            $error->errorCode === 'BUSYGROUP' || throw $error;
        }
    }

    private function pending(): array
    {
        if ($this->last === null) {
            return [];
        }
        [$entries] = $this->read($this->last);
        $this->last = array_key_last($entries);
        $this->given = $this->last ?? $this->given;
        $this->trimmed += array_fill_keys(array_keys($entries, null, true), true);
        return $entries;
    }

    private function left(): array
    {
        if ($this->claim === null && (microtime(true) - $this->claimedAt) * 1000 >= $this->idleMs) {
            $this->claim = '0-0';
        }
        while ($this->claim !== null) {
            $claim = ['XAUTOCLAIM', $this->stream, $this->group, $this->name, $this->idleMs, $this->claim];
            [$reply] = ($this->call)([...$claim, 'COUNT', self::COUNT], 0);
            $this->claim = $reply[0] === '0-0' ? null : $reply[0];
            $this->claimedAt = microtime(true);
            $found = self::entries($reply[1]);
            foreach ($reply[2] ?? [] as $id) {
                // Trimmed entries that were pending for this name were already returned.
                isset($this->trimmed[$id]) || $found[$id] = null;
                unset($this->trimmed[$id]);
            }
            if ($found !== []) {
                return $found;
            }
        }
        return [];
    }

    private function new(): array
    {
        [$entries, $lost] = $this->read('>', $this->blockMs);
        if ($lost > 0) {
            // The entries of the lost reply are pending for this name now, and those of this reply too: they come
            // in their order.
            $this->last = $this->given;
            return $this->pending();
        }
        $this->given = array_key_last($entries) ?? $this->given;
        return $entries;
    }

    /** @return array{array<string, ?array>, int} the entries, and the attempts that were lost before */
    private function read(string $after, ?int $blockMs = null): array
    {
        $command = ['XREADGROUP', 'GROUP', $this->group, $this->name, 'COUNT', self::COUNT];
        $command = [...$command, ...($blockMs === null ? [] : ['BLOCK', $blockMs])];
        [$reply, $lost] = ($this->call)([...$command, 'STREAMS', $this->stream, $after], $blockMs ?? 0);
        return [is_array($reply) && $reply !== [] ? self::entries($reply[0][1]) : [], $lost];
    }

    private static function entries(array $entries): array
    {
        $found = [];
        foreach ($entries as [$id, $fields]) {
            try {
                $found[$id] = is_array($fields) && $fields !== [] ? Words::event($fields) : null;
            } catch (\Exception | \TypeError) {
                // Another program wrote it: it must not stop the worker.
                $found[$id] = null;
            }
        }
        return $found;
    }
}

/** One sale, with phpredis or Predis. timeoutMs is for a call with all its attempts. */
final class Sale implements SaleInterface
{
    private const PAUSE_MS = 50;
    private ?Connection $connection = null;
    /** The process that has made the connection. */
    private int|false|null $process = null;

    /**
     * @param \Closure(): (\Redis|\RedisCluster|ClientInterface) $connect returns a client for this sale; called
     *     again after a lost connection, when it may return the old client
     * @param ?\Closure(string, string, int, float): mixed $onAttempt called after each attempt with the command,
     *     the first word of the reply or LOST, the attempts lost so far, and the milliseconds
     * @param ?\Closure(string, int): \Redis $node connects to a node of a \RedisCluster by host and port; needed
     *     for a password or TLS
     */
    public function __construct(
        private readonly \Closure $connect,
        private readonly string $key,
        private readonly ?Durable $durable = null,
        private readonly int $timeoutMs = 2000,
        private readonly int $attempts = 5,
        private readonly ?\Closure $onAttempt = null,
        private readonly ?\Closure $node = null,
    ) {
    }

    public function grab(
        string $user,
        ?string $req = null,
        ?int $qty = null,
        ?int $upto = null,
        ?array $units = null,
        bool $adjacent = false,
    ): Answer {
        return $this->change('GRAB', $user, self::made($req), self::asked($qty, $upto, $units, $adjacent));
    }

    public function wait(string $user, ?string $req = null, ?int $qty = null, ?int $untilMs = null): Answer
    {
        $until = $untilMs === null ? [] : ['UNTIL', $untilMs];
        return $this->change('GRAB', $user, self::made($req), [...self::qty($qty), 'WAIT', ...$until]);
    }

    public function confirm(
        string $user,
        ?string $req = null,
        bool $reclaim = false,
        int|array|null $keep = null,
    ): Answer {
        return $this->change('CONFIRM', $user, $req ?? '', [...($reclaim ? ['RECLAIM'] : []), ...self::part($keep)]);
    }

    public function cancel(string $user, ?string $req = null, int|array|null $keep = null): Answer
    {
        return $this->change('CANCEL', $user, $req ?? '', self::part($keep));
    }

    public function extend(string $user, int $ms, ?string $req = null): Answer
    {
        return $this->change('EXTEND', $user, $req ?? '', [$ms]);
    }

    public function refund(string $user, ?string $req = null, int|array|null $keep = null): Answer
    {
        return $this->change('REFUND', $user, $req ?? '', self::part($keep));
    }

    public function mgrab(string $user, array $others, ?string $req = null, int|array|null $qty = null): MultiAnswer
    {
        $keys = [$this->key, ...array_map(fn (string $other) => $other, array_values($others))];
        $units = is_array($qty) ? ['QTY', ...array_map(fn (int $n) => $n, array_values($qty))] : self::qty($qty);
        $req = self::made($req);
        $prefixed = fn () => array_map($this->prefixed(...), $keys);
        $command = fn () => ['SECKILL.MGRAB', $user, count($keys), ...$prefixed(), ...$units, 'REQ', $req];
        return $this->sure('MGRAB', Words::answers(...), $command, $req);
    }

    public function status(): array
    {
        return $this->read('STATUS', fn ($json) => json_decode($json, true, 9, JSON_THROW_ON_ERROR), 'JSON');
    }

    public function units(int $first = 1, int $count = 1000): string
    {
        return $this->read('UNITS', fn (string $told) => $told, $first, 'COUNT', $count);
    }

    public function unit(int $unit): ?array
    {
        return $this->read('UNIT', fn ($told) => is_array($told) && $told ? Words::rows([$told])[0] : null, $unit);
    }

    public function user(string $user): array
    {
        $read = function (array $told) {
            [$allowance, $admission, $rows] = Words::first(3, $told);
            return ['allowance' => $allowance, 'admission' => $admission, 'grants' => Words::rows($rows)];
        };
        return $this->read('USER', $read, $user);
    }

    public function place(string $user): ?array
    {
        $names = ['ticket', 'ahead', 'unitsAhead'];
        $read = fn (array $told) => Words::first(1, $told)[0] === 'WAITING'
            ? array_combine($names, array_slice($told, 1, 3)) : null;
        return $this->read('PLACE', $read, $user);
    }

    public function winners(string $state = 'LIVE', int $after = 0): \Generator
    {
        $read = fn (array $told) => [Words::first(2, $told)[0], Words::rows($told[1])];
        do {
            [$after, $rows] = $this->read('WINNERS', $read, $after, 'COUNT', 1000, 'STATE', $state);
            foreach ($rows as $row) {
                yield $row;
            }
        } while ($after !== 0);
    }

    public function orders(
        string $stream,
        string $group,
        string $name,
        int $idleMs = 60_000,
        int $blockMs = 1000,
        bool $follow = true,
    ): \Generator {
        $key = fn () => $this->prefixed($stream);
        $call = function (array $words, int $waitMs) {
            $command = fn () => array_map(fn ($word) => $word instanceof \Closure ? $word() : $word, $words);
            [$told, , $lost] = $this->ask($words[0], fn ($told) => $told, '', [$command], $waitMs);
            return [$told, $lost];
        };
        $reader = new Reader($call, $key, $group, $name, $idleMs, $follow ? $blockMs : null);
        while (($entries = $reader->batch()) !== [] || $follow) {
            foreach ($entries as $id => $event) {
                yield new Order($id, $event, $reader->ack(...));
            }
        }
    }

    /** The user's part of a split sale, and its key. @return array{int, string} */
    public static function home(string $name, int $parts, string $user): array
    {
        $part = crc32($user) % $parts;
        return [$part, "$name:{p$part}"];
    }

    /** Reads a raw reply of GRAB, IMPORT, CONFIRM, CANCEL, EXTEND or REFUND, from a script or any client. */
    public static function answer(array $reply): Answer
    {
        return Words::answer($reply);
    }

    /**
     * Reads the fields of an outbox entry, a map or a flat list. A repeated entry has an equal id, epoch and rev
     * in its data.
     */
    public static function decode(array $fields): array
    {
        return Words::event($fields);
    }

    private static function made(?string $req): string
    {
        return (string) $req === '' ? bin2hex(random_bytes(16)) : $req;
    }

    /** The quantity or the numbers, given in exactly one way. */
    private static function asked(?int $qty, ?int $upto, ?array $units, bool $adjacent): array
    {
        if ($units !== null ? $qty !== null || $upto !== null || $adjacent : $upto !== null && $adjacent) {
            throw new \TypeError('units are asked for in one way: by qty, upto, units or adjacent');
        }
        return match (true) {
            $units !== null => ['UNITS', ...array_map(fn (int $unit) => $unit, array_values($units))],
            $adjacent => ['QTY', $qty ?? 1, 'ADJACENT'],
            $upto !== null => ['UPTO', $upto],
            default => self::qty($qty),
        };
    }

    /** The default of GRAB is one unit; a sale that draws amounts accepts no QTY. */
    private static function qty(?int $qty): array
    {
        return ($qty ?? 1) === 1 ? [] : ['QTY', $qty];
    }

    /** Arguments for KEEP: a quantity, or unit numbers. */
    private static function part(int|array|null $keep): array
    {
        return match (true) {
            $keep === null => [],
            is_array($keep) => ['KEEP', 'UNITS', ...array_map(fn (int $unit) => $unit, array_values($keep))],
            default => ['KEEP', $keep],
        };
    }

    /** The key with the client's prefix, which the libraries do not add to unknown commands. */
    private function prefixed(string $key): string
    {
        return $this->connection()->prefix() . $key;
    }

    private function connection(): Connection
    {
        $process = Clients::process();
        if ($this->process !== $process) {
            // After a fork both would read replies of one connection, each those of the other, too.
            $this->drop();
            $this->process = $process;
        }
        if ($this->connection === null) {
            $client = ($this->connect)();
            $this->connection = Clients::of($client, $this->node);
        }
        return $this->connection;
    }

    private function read(string $name, callable $read, string|int ...$words): mixed
    {
        return $this->ask($name, $read, '', [fn () => ["SECKILL.$name", $this->prefixed($this->key), ...$words]])[0];
    }

    private function change(string $name, string $user, string $req, array $more): Answer
    {
        $given = $req === '' ? [] : ['REQ', $req];
        $command = fn () => ["SECKILL.$name", $this->prefixed($this->key), $user, ...$more, ...$given];
        return $this->sure($name, Words::answer(...), $command, $req);
    }

    /**
     * The repeated call shows that this server has the grant, and the INCR comes after it, so the WAIT covers both.
     * (After a REPLAY, which writes nothing, a WAIT alone would not wait.)
     */
    private function sure(string $name, callable $read, \Closure $command, string $req): Answer|MultiAnswer
    {
        [$durable, $end] = [$this->durable, self::now() + $this->timeoutMs];
        $checked = function () use ($durable, $command) {
            $durable === null || $this->checkMark($durable->mark);
            return $command();
        };
        [$told, , $lost] = $this->ask($name, $read, $req, [$checked], end: $end);
        $isSure = null;
        if ($durable !== null && self::stands($told) !== []) {
            $mark = fn () => ['INCR', $this->prefixed($durable->mark)];
            $commands = [$command, $mark, ['WAIT', $durable->replicas, $durable->timeoutMs]];
            [$again, $replies, $lost] =
                $this->ask($name, $read, $req, $commands, $durable->timeoutMs, $lost, true, $end);
            $told = self::stands($again) === self::stands($told) ? $told : $again;
            $isSure = self::stands($told) === [] ? null : $replies[2] >= $durable->replicas;
        }
        $fields = ['req' => $req, 'lost' => $lost, 'durable' => $isSure] + get_object_vars($told);
        return $told instanceof Answer ? new Answer(...$fields) : new MultiAnswer(...$fields);
    }

    /** The grants in an answer. */
    private static function stands(Answer|MultiAnswer $told): array
    {
        $grants = $told instanceof Answer ? [$told] : $told->grants;
        $grants = array_filter($grants, fn (Answer $grant) => $grant->seq > 0 && $grant->state !== null);
        $told = fn (Answer $one) => [$one->seq, $one->qty, $one->state, $one->deadlineMs, $one->units];
        return array_map($told, $grants);
    }

    private function checkMark(string $mark): void
    {
        $isElsewhere = fn () => Slots::of($this->prefixed($mark)) !== Slots::of($this->prefixed($this->key));
        if ($this->connection()->isCluster() && $isElsewhere()) {
            throw new \TypeError("in a cluster the mark must be in the sale's slot: use {...}");
        }
    }

    /**
     * Retries until there is an answer. An error after a lost attempt says nothing about that attempt. $end: when
     * the call's time is over; the time of a command that blocks comes on top.
     *
     * @param list<list<string|int>|\Closure(): list<string|int>> $commands
     */
    private function ask(
        string $name,
        callable $read,
        string $req,
        array $commands,
        int $waitMs = 0,
        int $lost = 0,
        bool $happened = false,
        ?float $end = null,
    ): array {
        $end = ($end ?? self::now() + $this->timeoutMs) + $waitMs;
        [$why, $cause] = ['no time is left', null];
        for ($attempt = 0; $attempt < max($this->attempts, 1); $attempt++) {
            usleep((int) (1000 * min(self::PAUSE_MS * $attempt, max($end - self::now(), 0))));
            $begun = self::now();
            $left = $end - $begun;
            if ($left <= 0) {
                break;
            }
            $ms = $attempt + 1 >= $this->attempts ? $left : min($left, $waitMs + max($left - $waitMs, 0) / 2);
            [$outcome, $cause, $told, $isAnswer, $isSent] = ['LOST', null, null, false, false];
            try {
                $connection = $this->connection();
                $words = array_map(fn ($command) => $command instanceof \Closure ? $command() : $command, $commands);
                $key = $this->prefixed($this->key);
                $isSent = true;
                $replies = $connection->send($key, $words, $ms / 1000);
                $errors = array_filter($replies, fn ($reply) => $reply instanceof ErrorReply);
                if ($errors === []) {
                    $told = $read($replies[0]);
                    $isAnswer = true;
                    $outcome = $told instanceof Answer || $told instanceof MultiAnswer ? $told->outcome : 'OK';
                } else {
                    $error = array_values($errors)[0];
                    [$outcome, $why] = [$error->code(), $error->message];
                }
            } catch (\TypeError | \ValueError $mistake) {
                // Before that it is the program's error, such as a client of another type. Afterwards the replies
                // are no valid answer.
                $isSent || throw $mistake;
                [$why, $cause] = [$mistake->getMessage(), $mistake];
            } catch (\Exception $error) {
                [$why, $cause] = [$error->getMessage(), $error];
                // A failed login is an error reply, too.
                $outcome = ErrorReply::is($why) ? (new ErrorReply($why))->code() : 'LOST';
            }
            $lost += (int) ($outcome === 'LOST');
            $this->tell($name, $outcome, $lost, self::now() - $begun);
            if ($isAnswer) {
                return [$told, $replies, $lost];
            }
            $isMoved = in_array($outcome, ['MOVED', 'ASK'], true) && !$this->connection?->isCluster();
            if ((in_array($outcome, Tables::MISTAKES, true) && !ErrorReply::passes($why)) || $isMoved) {
                throw $lost > 0 || $happened
                    ? new Unanswered($req, $lost, $why, $cause) : new SaleError($why, $outcome);
            }
            $dropping = ['LOST', 'CLUSTERDOWN', ...Connection::DROPPING];
            if (in_array($outcome, $dropping, true) || ErrorReply::isFull($why)) {
                $this->drop();
            }
        }
        throw new Unanswered($req, $lost, $why, $cause);
    }

    private function drop(): void
    {
        try {
            $this->connection?->drop();
        } catch (\Exception) {
            // The connection was closed already.
        }
        $this->connection = null;
    }

    private function tell(string $name, string $outcome, int $lost, float $ms): void
    {
        try {
            $this->onAttempt !== null && ($this->onAttempt)($name, $outcome, $lost, $ms);
        } catch (\Throwable) {
            // An exception of the listener must not lose the answer.
        }
    }

    private static function now(): float
    {
        return hrtime(true) / 1e6;
    }
}

/** The server refused the call and changed nothing; errorCode is the error's first word. */
final class SaleError extends \RuntimeException
{
    public function __construct(string $message, public readonly string $errorCode)
    {
        parent::__construct($message);
    }
}

/** @internal */
final class Slots
{
    /** The slot: CRC-16 (XMODEM) of the key, or of its hash tag. */
    public static function of(string $key): int
    {
        $open = strpos($key, '{');
        $close = $open === false ? false : strpos($key, '}', $open);
        if ($close !== false && $close > $open + 1) {
            $key = substr($key, $open + 1, $close - $open - 1);
        }
        $crc = 0;
        foreach (unpack('C*', $key) ?: [] as $byte) {
            $crc ^= $byte << 8;
            for ($bit = 0; $bit < 8; $bit++) {
                $crc = ($crc & 0x8000) !== 0 ? ($crc << 1) ^ 0x1021 : $crc << 1;
            }
        }
        return ($crc & 0xffff) % 16384;
    }
}

/** @internal */
final class Tables
{
    /** Names of a reply's elements, by its first word. Newer modules may add more. */
    public const FIELDS = [
        'GRANTED' => ['outcome', 'seq', 'qty', 'state', 'deadlineMs', 'available'],
        'ALREADY' => ['outcome', 'seq', 'qty', 'state', 'deadlineMs'],
        'REPLAY' => ['outcome', 'seq', 'qty', 'state', 'deadlineMs'],
        'OVERLIMIT' => ['outcome', 'allowance'],
        'SOLDOUT' => ['outcome', 'held'],
        'SHORT' => ['outcome', 'available'],
        'NOTOPEN' => ['outcome', 'opensInMs'],
        'CLOSED' => ['outcome'],
        'PAUSED' => ['outcome'],
        'DENIED' => ['outcome'],
        'BUSY' => ['outcome'],
        'WAITING' => ['outcome', 'ticket', 'ahead', 'unitsAhead'],
        'TAKEN' => ['outcome', 'unit'],
        'HELD' => ['state', 'seq', 'qty', 'deadlineMs'],
        'SOLD' => ['state', 'seq', 'qty', 'deadlineMs'],
        'CANCELLED' => ['state', 'seq', 'qty', 'deadlineMs'],
        'EXPIRED' => ['state', 'seq', 'qty', 'deadlineMs'],
        'REFUNDED' => ['state', 'seq', 'qty', 'deadlineMs'],
        'NOGRANT' => ['state', 'seq', 'qty', 'deadlineMs'],
    ];
    public const STATES = ['HELD', 'SOLD', 'CANCELLED', 'EXPIRED', 'REFUNDED'];
    public const ROW = ['seq', 'user', 'qty', 'state', 'atMs', 'deadlineMs', 'req', 'epoch', 'round'];
    public const EVENT = ['event', 'sale', 'data', 'user', 'req', 'outbox', 'split'];
    /** First words of errors that a retry can't avoid. */
    public const MISTAKES = [
        'AMBIGUOUS',
        'BUSYGROUP',
        'CROSSSLOT',
        'ERR',
        'NOAUTH',
        'NOGROUP',
        'NOPERM',
        'NOSALE',
        'NOSCRIPT',
        'NOTNUMBERED',
        'REQMISMATCH',
        'SALEEXISTS',
        'WRONGPART',
        'WRONGPASS',
        'WRONGTYPE',
    ];
}

/** The outcome is unknown. Send the call again with this req: it never takes units twice. */
final class Unanswered extends \RuntimeException
{
    public function __construct(
        public readonly string $req,
        /** Attempts without a reply. */
        public readonly int $lost,
        string $why,
        ?\Throwable $previous = null,
    ) {
        parent::__construct('ask again with the same REQ: ' . $why, 0, $previous);
    }
}

/** @internal Parses replies and entries. */
final class Words
{
    public static function answer(mixed $reply): Answer
    {
        $word = is_array($reply) ? ($reply[0] ?? '') : '';
        $names = is_string($word) ? Tables::FIELDS[$word] ?? [] : [];
        return self::named($names, (array) $reply, (string) $word);
    }

    public static function answers(mixed $reply): MultiAnswer
    {
        $word = is_array($reply) ? ($reply[0] ?? '') : '';
        if ($word === 'REFUSED') {
            return new MultiAnswer('', $word, [], $reply[1], self::answer(self::first(3, $reply)[2]));
        }
        in_array($word, ['GRANTED', 'REPLAY'], true) || throw new \UnexpectedValueException('not an answer');
        $grant = fn (array $row) => self::named(Tables::FIELDS[$word], [$word, ...$row], $word);
        return new MultiAnswer('', $word, array_map($grant, array_slice($reply, 1)));
    }

    /** Names the words. There may be more words than names, but not fewer. */
    private static function named(array $names, array $words, string $outcome): Answer
    {
        if ($names === [] || count($words) < count($names)) {
            throw new \UnexpectedValueException('not an answer');
        }
        $told = array_combine($names, array_slice(array_values($words), 0, count($names)));
        if (!in_array($told['state'] ?? 'HELD', [...Tables::STATES, 'NOGRANT'], true)) {
            throw new \UnexpectedValueException('not an answer');
        }
        try {
            $units = self::units(array_values($words), count($names));
            return new Answer(...['req' => '', 'outcome' => $outcome, 'units' => $units, ...$told]);
        } catch (\TypeError) {
            throw new \UnexpectedValueException('not an answer');
        }
    }

    /** Unit numbers at the end of a reply or a row, in a sale with NUMBERED. */
    private static function units(array $words, int $count): ?array
    {
        return is_array($words[$count] ?? null) ? $words[$count] : null;
    }

    /** The words of a reply that must have this many at least. */
    public static function first(int $count, array $words): array
    {
        return count($words) < $count ? throw new \UnexpectedValueException('not an answer') : $words;
    }

    public static function rows(array $rows): array
    {
        // phpredis returns false for null.
        $count = count(Tables::ROW);
        return array_map(fn (array $row) => ['req' => self::first($count, $row)[6] === false ? null : $row[6]]
            + array_combine(Tables::ROW, array_slice($row, 0, $count)) + ['units' => self::units($row, $count)], $rows);
    }

    public static function event(array $fields): array
    {
        $told = array_is_list($fields) ? array_column(array_chunk($fields, 2), 1, 0) : $fields;
        isset($told['event'], $told['sale'], $told['data'])
            || throw new \UnexpectedValueException('not an entry of a sale');
        $data = json_decode($told['data'], true, 9, JSON_THROW_ON_ERROR);
        if (!is_array($data) || ($data !== [] && array_is_list($data))) {
            throw new \UnexpectedValueException('not an entry of a sale');
        }
        return ['data' => $data] + $told + array_fill_keys(Tables::EVENT, null);
    }
}
