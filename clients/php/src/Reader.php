<?php

declare(strict_types=1);

namespace Seckill;

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
