<?php

declare(strict_types=1);

namespace Seckill;

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
