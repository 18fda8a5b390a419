<?php

// Buys from seckill, a Redis module for flash sales, with phpredis or Predis. An answer is a value,
// won or not. SaleError: nothing has happened. Unanswered: nobody knows, so ask again with its req,
// which never takes twice. See docs/clients.md.

declare(strict_types=1);

namespace Seckill;

use Predis\ClientInterface;

/** The server refused the call and nothing has happened; errorCode is the error's first word. */
final class SaleError extends \RuntimeException
{
    public function __construct(string $message, public readonly string $errorCode)
    { parent::__construct($message); }
}

/** Nobody knows whether it happened; the same call with this req tells and never repeats it. */
final class Unanswered extends \RuntimeException
{
    public function __construct(public readonly string $req, \Throwable $why)
    { parent::__construct('ask again with the same REQ: ' . $why->getMessage(), 0, $why); }
}

/** What GRAB, CONFIRM, CANCEL and EXTEND tell; what is not told is null. */
final class Answer
{
    public function __construct(
        public readonly string $req,
        /** @var 'GRANTED'|'ALREADY'|'REPLAY'|'OVERLIMIT'|'SOLDOUT'|'SHORT'|'NOTOPEN'|'CLOSED'|'PAUSED'|
         *  'DENIED'|'BUSY'|'WAITING'|'HELD'|'SOLD'|'CANCELLED'|'EXPIRED'|'REFUNDED'|'NOGRANT' the first word */
        public readonly string $outcome,
        public readonly ?string $state = null,
        public readonly ?int $seq = null, public readonly ?int $qty = null, public readonly ?int $deadline = null,
        public readonly ?int $available = null, public readonly ?int $held = null,
        public readonly ?int $allowance = null, public readonly ?int $opensIn = null,
        /** Attempts without an answer. After a refusal one of them may still arrive: cancel. */
        public readonly int $lost = 0, public readonly ?bool $durable = null,
    ) {}

    public function won(): bool
    { return in_array($this->state, ['HELD', 'SOLD'], true); }
}

/**
 * @phpstan-type Row array{seq: int, user: string, qty: int, state: string, at: int, deadline: int, req: ?string,
 *     epoch: int, round: int}
 * @phpstan-type Event array{event: string, sale: string, data: array<string, mixed>, user?: string, req?: string}
 */
final class Sale
{
    private const FIELDS = ['GRANTED' => 'outcome seq qty state deadline available',
        'ALREADY' => 'outcome seq qty state deadline', 'REPLAY' => 'outcome seq qty state deadline',
        'OVERLIMIT' => 'outcome allowance', 'SOLDOUT' => 'outcome held', 'SHORT' => 'outcome available',
        'NOTOPEN' => 'outcome opensIn', 'CLOSED' => 'outcome', 'PAUSED' => 'outcome',
        'DENIED' => 'outcome', 'BUSY' => 'outcome', 'WAITING' => 'outcome'];
    private const STATES = ['HELD', 'SOLD', 'CANCELLED', 'EXPIRED', 'REFUNDED', 'NOGRANT'];
    private const ROW = ['seq', 'user', 'qty', 'state', 'at', 'deadline', 'req', 'epoch', 'round'];
    /** Errors that come however often one asks. Others pass, and may hide what was granted before. */
    private const MISTAKES = '/^(ERR|WRONGTYPE|NOSALE|REQMISMATCH|AMBIGUOUS|WRONGPART|NOPERM|NOAUTH) /';
    private \Redis|ClientInterface|null $client = null;

    /**
     * With a mark, a counter on the sale's node, answers say whether so many replicas have the grant.
     * @param \Closure(): (\Redis|ClientInterface) $connect a client for this sale alone
     */
    public function __construct(
        private readonly \Closure $connect, private readonly string $key,
        private readonly ?string $mark = null, private readonly int $replicas = 1,
        private readonly int $waitMs = 1000, private readonly int $attempts = 5,
    ) {}

    /** Asks for units with one REQ for all attempts: the order's, or one that is made here. */
    public function grab(string $user, string $req = '', int $qty = 1, int $upto = 0): Answer
    {
        $req = $req === '' ? bin2hex(random_bytes(16)) : $req;
        // One is what GRAB takes by itself, and a sale that draws amounts takes no other word.
        $units = $upto > 0 ? ['UPTO', $upto] : ($qty === 1 ? [] : ['QTY', $qty]);
        return $this->change('GRAB', $user, $req, $units);
    }

    /** The part of a split sale that is this user's, and its key. @return array{int, string} */
    public static function home(string $name, int $parts, string $user): array
    { return [$part = crc32($user) % $parts, "$name:{p$part}"]; }
    public function confirm(string $user, string $req = '', bool $reclaim = false): Answer
    { return $this->change('CONFIRM', $user, $req, $reclaim ? ['RECLAIM'] : []); }
    public function cancel(string $user, string $req = ''): Answer
    { return $this->change('CANCEL', $user, $req, []); }
    public function extend(string $user, int $ms, string $req = ''): Answer
    { return $this->change('EXTEND', $user, $req, [$ms]); }

    /** @return array<string, mixed> */
    public function status(): array
    { return $this->ask('', [['SECKILL.STATUS', $this->key, 'JSON']], fn ($json) => json_decode($json, true))[0]; }

    /** @return array{allowance: int, admission: string, grants: list<Row>} */
    public function user(string $user): array
    {
        $read = fn ($told) => ['allowance' => $told[0], 'admission' => $told[1], 'grants' => self::rows($told[2])];
        return $this->ask('', [['SECKILL.USER', $this->key, $user]], $read)[0];
    }

    /** @return \Generator<int, Row> */
    public function winners(string $state = 'LIVE', int $after = 0): \Generator
    {
        do {
            $command = ['SECKILL.WINNERS', $this->key, $after, 'COUNT', 1000, 'STATE', $state];
            [$after, $rows] = $this->ask('', [$command], fn ($reply) => [$reply[0], self::rows($reply[1])])[0];
            foreach ($rows as $row) {
                yield $row;
            }
        } while ($after !== 0);
    }

    /** @return Event of a map or a flat list; what came twice is known by the id, epoch and rev in its data */
    public static function decode(array $fields): array
    {
        $told = array_is_list($fields) ? array_column(array_chunk($fields, 2), 1, 0) : $fields;
        return ['data' => json_decode($told['data'], true, 9, JSON_THROW_ON_ERROR)] + $told;
    }

    private function change(string $name, string $user, string $req, array $more): Answer
    {
        $command = ["SECKILL.$name", $this->key, $user, ...$more, ...($req === '' ? [] : ['REQ', $req])];
        [[$told, , $lost], $durable] = [$this->ask($req, [$command], self::told(...)), null];
        if ($this->mark !== null && ($told['state'] ?? 'NOGRANT') !== 'NOGRANT') {
            // The repeated call shows that this server has the grant, and the INCR comes after it, so
            // the WAIT is for both. (Alone behind a REPLAY it would wait for nothing.)
            $commands = [$command, ['INCR', $this->mark], ['WAIT', $this->replicas, $this->waitMs]];
            [$again, $replies] = $this->ask($req, $commands, self::told(...), 1);
            $told = [$again['seq'], $again['state']] === [$told['seq'], $told['state']] ? $told : $again;
            $durable = $replies[2] >= $this->replicas;
        }
        return new Answer(...['req' => $req, ...$told, 'lost' => $lost, 'durable' => $durable]);
    }

    /** Until there is an answer. An error after a lost attempt says nothing of that attempt. */
    private function ask(string $req, array $commands, callable $read, int $lost = 0): array
    {
        for ($attempt = 0; $attempt < $this->attempts; $attempt++) {
            usleep(50_000 * $attempt);
            $replies = null;
            try {
                $replies = $this->send($commands);
                return [$read($replies[0]), $replies, $lost];
            } catch (\Throwable $why) {
                // A mistake in the program, as a connection of another type; with replies, they are no answer.
                $why instanceof \Error && $replies === null && throw $why;
                if (preg_match(self::MISTAKES, $why->getMessage(), $word) === 1) {
                    throw $lost > 0 ? new Unanswered($req, $why) : new SaleError($why->getMessage(), $word[1]);
                }
                // What is still to come must not be taken for the answer to another call.
                [$this->client, $lost] = [null, $lost + 1];
            }
        }
        throw new Unanswered($req, $why);
    }

    private function send(array $commands): array
    {
        $client = $this->client ??= ($this->connect)();
        $prefix = $client instanceof \Redis ? $client->getOption(\Redis::OPT_PREFIX)
            : $client->getOptions()->prefix?->getPrefix();
        foreach ($commands as $at => $command) {
            // The library puts its prefix before no key of a call by name.
            $command[1] = ($command[0] === 'WAIT' ? '' : $prefix) . $command[1];
            if ($client instanceof \Redis) {
                // Else, when a reply breaks off, it connects again and reads on there.
                $client->setOption(\Redis::OPT_MAX_RETRIES, 0);
                $client->clearLastError();
                $replies[$at] = $client->rawCommand(...$command);
                $why = $client->getLastError();
            } else {
                $replies[$at] = $client->executeRaw($command, $isError);
                $why = $isError ? $replies[$at] : null;
            }
            $why === null || throw new \RuntimeException($why);
        }
        return $replies;
    }

    private static function told(mixed $reply): array
    {
        $word = $reply[0] ?? '';
        $names = explode(' ', self::FIELDS[$word] ?? 'state seq qty deadline');
        $told = ['outcome' => $word] + array_combine($names, array_slice((array) $reply, 0, count($names)));
        in_array($told['state'] ?? 'HELD', self::STATES, true) || throw new \RuntimeException('not an answer');
        new Answer('', ...$told);
        return $told;
    }

    private static function rows(array $rows): array
    {
        // phpredis has false for null.
        return array_map(fn ($row) => ['req' => $row[6] === false ? null : $row[6]]
            + array_combine(self::ROW, array_slice($row, 0, 9)), $rows);
    }
}
