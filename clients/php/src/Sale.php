<?php

declare(strict_types=1);

namespace Seckill;

use Predis\ClientInterface;

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
