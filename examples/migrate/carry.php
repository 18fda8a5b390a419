<?php

// Shared by the programs of this folder, which move a sale from a shop's keys or tables into a sale of seckill, and
// back. First both sides are checked for everything that can fail. Then the sale is created, paused and empty. Only
// then the old side is closed. A stopped program can be run again with its options, or with --back yes. After the
// move the sale is not changed again: with `--open no` it waits for your RESUME. See docs/migrate.md.

declare(strict_types=1);

require __DIR__ . '/lang.php';
require __DIR__ . '/buyers.php';
require __DIR__ . '/late.php';
require __DIR__ . '/notes.php';
require __DIR__ . '/options.php';

final class Carry
{
    use Notes;
    use SoldSince;

    /** The request id of buyers without an order. A repeated IMPORT with it changes nothing. */
    public const REQ = 'moved';

    /** RESTOCK by this number withdraws all available units, and can be repeated. */
    private const ALL = -9007199254740991;

    /** The exit code of a program that found sales of the old page after the move. */
    public const LATE = 2;

    /** The states of an order whose hold ended before CONFIRM: its units were for sale again. */
    public const UNSOLD = ['EXPIRED', 'CANCELLED'];

    /** The types of a record of users. */
    private const RECORDS = [Redis::REDIS_HASH, Redis::REDIS_SET, Redis::REDIS_ZSET, Redis::REDIS_LIST];

    /** Options that may differ in a later run. */
    private const READ_AGAIN = ['old', 'new', 'back', 'open', 'add', 'empty', 'enter-late', 'late', 'lang', 'dsn', 'db-user',
        'orders'];

    /** @param ?Redis $old the server with the shop's keys; null for SQL */
    private function __construct(
        public readonly ?Redis $old, private readonly Redis $new,
        public readonly string $sale, private readonly array $terms, private readonly array $options,
    ) {}

    /** @param list<string> $needed options of the program, in addition to --new and --sale */
    public static function fromOptions(array $needed, array $optional = []): self
    {
        $options = Options::read($needed, $optional);
        $terms = preg_split('/ /', $options['terms'] ?? '', -1, PREG_SPLIT_NO_EMPTY);
        if (in_array('EVERY', array_map(strtoupper(...), $terms), true)) {
            // The remaining units would become the supply of every later round.
            self::fail('a sale with rounds is begun fresh between two rounds, not carried over');
        }
        $old = isset($options['old']) ? Options::connect($options['old'], 'OLD_PASSWORD') : null;
        $new = Options::connect($options['new'], 'NEW_PASSWORD');
        return new self($old, $new, $options['sale'], $terms, $options);
    }

    public function option(string $name, string $default = ''): string
    {
        return $this->options[$name] ?? $default;
    }

    /** Whether to move the sale back: `--back yes`. */
    public function isBack(): bool
    {
        return $this->option('back') === 'yes';
    }

    /**
     * Creates the sale, paused in the same step, so that nobody buys before the end of the move. Fails now, while
     * the old side still sells, if any later step would be refused. A sale that draws amounts gets its total now.
     */
    public function prepare(int $supply = 0, array $draw = []): void
    {
        [$there, $why] = $this->ask('SECKILL.STATUS', $this->sale, 'JSON');
        if ($why === null) {
            $this->checkSale(json_decode($there, true));
        } elseif (str_starts_with($why, 'NOSALE')) {
            $this->checkRights();
        } else {
            self::fail("$why (is the module loaded there?)");
        }
        $script = "redis.call('SECKILL.INIT', KEYS[1], unpack(ARGV)) return redis.call('SECKILL.PAUSE', KEYS[1])";
        $this->call('EVAL', $script, 1, $this->sale, $supply, ...$draw, ...$this->terms);
    }

    /** Checks an existing sale: of a stopped run, or one that sells beside the old program. */
    private function checkSale(array $status): void
    {
        $this->state() === 'back' && self::fail("$this->sale was taken back: take another --sale, or DEL it");
        $fresh = $status['state'] === 'paused' && $status['grants'] === 0;
        if ($this->state() === '' && !$fresh && $this->option('add') !== 'yes') {
            self::fail("a sale is at $this->sale already: take another --sale, or --add yes if both sell side by side");
        }
    }

    /** Checks permissions by calls with invalid numbers: they change nothing, and a missing permission is NOPERM. */
    private function checkRights(): void
    {
        $tries = [['RESTOCK', 'x', 'REQ', 'x'], ['IMPORT', 'x', 'x', 'REQ', 'x'], ['AUDIT'], ['PAUSE'], ['RESUME'],
            ['WINNERS', '0']];
        foreach ($tries as $words) {
            $name = array_shift($words);
            [, $why] = $this->ask("SECKILL.$name", $this->sale, ...$words);
            str_starts_with((string) $why, 'NOPERM') && self::fail($why);
        }
    }

    /** Closes the old side and records that, in one step. Does nothing if it is closed. */
    public function close(callable $put): void
    {
        if ($this->state() === 'begun') {
            return;
        }
        $this->transact(function ($old) use ($put) {
            $put($old);
            $old->del($this->notes());
            $old->hMSet($this->notes(), ['from' => $this->source(), 'state' => 'begun', 'base' => $this->grants()]);
        });
    }

    /** Number of grants. Before the sale is filled they are those of another page that sells from it. */
    public function grants(): int
    {
        return $this->status()['grants'];
    }

    /** Renames an old key, and sets it to the value that means "sold out" for the old program. */
    public function aside(Redis $old, string $key, ?string $instead): void
    {
        $old->renameNx($key, "$key:moved");
        $instead === null || $old->setNx($key, $instead);
    }

    /** The new name of a renamed key. Fails if another move has left that key. */
    public function checkAside(string $key): string
    {
        if ($this->state() !== 'begun') {
            $this->old->exists($key) || self::fail("there is no key $key");
            $this->old->exists("$key:moved") && self::fail("$key:moved is there, of another move: rename or delete it");
        }
        return "$key:moved";
    }

    /**
     * Refuses a missing record of winners, which may be a typing error, and one that has no users, whose winners could
     * all buy again. --empty yes says that nobody has won.
     */
    public function checkRecord(string $key): void
    {
        $type = $this->old->type($key);
        if ($type === Redis::REDIS_NOT_FOUND) {
            $this->state() === 'begun' || $this->option('empty') === 'yes'
                || self::fail("there is no key $key: if nobody has won yet, say --empty yes");
        } elseif (!in_array($type, self::RECORDS, true)) {
            self::noRecord($key);
        }
    }

    private static function noRecord(string $key): never
    {
        self::fail("$key is no hash, set, sorted set or list of users: who has won is not known");
    }

    /**
     * Imports the buyers, then adds the remaining units and theirs. So no unit is available before all buyers are
     * imported. Units above the stock stay as a deficit: the old program had oversold them.
     * @param list<array{string, string, int, int}> $buyers
     */
    public function fill(int $left, array $buyers = [], ?int $base = null): void
    {
        $base ??= (int) $this->old->hGet($this->notes(), 'base');
        [$missing, $entered] = $this->compare($buyers);
        $this->enter([...$entered, ...$missing]);
        $theirs = 0;
        foreach ($this->grantsIn('LIVE') as [$seq, , $qty]) {
            $theirs += $seq > $base ? $qty : 0;
        }
        $supply = max(0, $left + $theirs);
        $supply === 0 || $this->call('SECKILL.RESTOCK', $this->sale, $supply, 'REQ', self::REQ);
    }

    /**
     * As fill(), for numbered units: numbers 1 to $left are the remaining ones. Earlier buyers get the numbers after
     * those, which the new page never hands out. Nobody buys meanwhile, because the sale is paused.
     * @param list<array{string, string, int, int}> $buyers
     */
    public function fillNumbered(int $left, array $buyers): void
    {
        [$missing, $entered] = $this->compare($buyers);
        $supply = $left + array_sum(array_column($missing, 2)) + array_sum(array_column($entered, 2));
        $supply === 0 || $this->call('SECKILL.RESTOCK', $this->sale, $supply, 'REQ', self::REQ);
        $this->enter($missing, $left + array_sum(array_column($entered, 2)) + 1);
    }

    /** @return array<int, true> the indexes, from 0 on, of free numbers */
    public function free(int $count): array
    {
        $free = [];
        for ($first = 1; $first <= $count; $first += 10_000) {
            $stands = str_split($this->call('SECKILL.UNITS', $this->sale, $first, 'COUNT', 10_000));
            foreach (array_keys($stands, '.', true) as $at) {
                $free[$first - 1 + $at] = true;
            }
        }
        return $free;
    }

    /**
     * Imports the buyers; repeated ones change nothing. Fails if one is refused. In a sale with numbered units they
     * get the numbers from $unit on.
     */
    private function enter(array $buyers, ?int $unit = null): void
    {
        $this->isChanged = $this->isChanged || $buyers !== [];
        $refused = 0;
        foreach ($buyers as [$user, $order, $qty, $atMs]) {
            $at = $atMs > 0 ? ['AT', $atMs] : [];
            $units = $unit === null ? [] : ['UNITS', ...range($unit, $unit + $qty - 1)];
            $unit === null || $unit += $qty;
            [$told, $why] = $this->ask('SECKILL.IMPORT', $this->sale, $user, $qty, 'REQ', $order, ...$units, ...$at);
            $why ??= ($told[0] ?? '') === 'TAKEN' ? "number $told[1] is taken" : null;
            if ($why !== null) {
                $refused++;
                fwrite(STDERR, "refused: user $user, order $order, $qty: $why\n");
            }
        }
        $of = count($buyers);
        $refused === 0 || self::fail("$refused of $of buyers were refused: the sale stays paused; mend them, run it again");
    }

    /** @return Generator<string, string> users of a hash (with its values), a set, a sorted set or a list */
    public function users(string $key): Generator
    {
        $cursor = null;
        switch ($this->old->type($key)) {
            case Redis::REDIS_HASH:
                while (($page = $this->old->hScan($key, $cursor, null, 1000)) !== false) {
                    yield from array_map(strval(...), $page);
                }
                break;
            case Redis::REDIS_SET:
                while (($page = $this->old->sScan($key, $cursor, null, 1000)) !== false) {
                    yield from array_fill_keys($page, '');
                }
                break;
            case Redis::REDIS_ZSET:
                while (($page = $this->old->zScan($key, $cursor, null, 1000)) !== false) {
                    yield from array_fill_keys(array_keys($page), '');
                }
                break;
            case Redis::REDIS_LIST:
                yield from array_fill_keys($this->old->lRange($key, 0, -1), '');
                break;
            case Redis::REDIS_NOT_FOUND:
                break;
            default:
                self::noRecord($key);
        }
    }

    /** Checks the numbers, records the end of the move, and resumes the sale, unless `--open no` is given. */
    public function finish(): void
    {
        $audit = $this->call('SECKILL.AUDIT', $this->sale);
        $audit[1] === 1 || self::fail('AUDIT found differences: ' . json_encode($audit));
        $this->mark('done', ['options' => $this->carriedOptions(), 'last' => $this->grants()]);
        $this->option('open') === 'no' || $this->call('SECKILL.RESUME', $this->sale);
        $this->say('moved');
        $this->sayWhoComes();
    }

    /** Prints the number of the new page's first grant. */
    private function sayWhoComes(): void
    {
        echo "who comes from now on: SECKILL.WINNERS $this->sale ", $this->noted()['last'] ?? 0, "\n";
    }

    /**
     * Pauses the sale, waits for holds, and withdraws the remaining units. Returns null if the move was stopped in the
     * middle: then nobody has bought, and the renamed keys have all units.
     */
    public function takeBack(bool $draws = false): ?int
    {
        $state = $this->checkBack();
        if ($state === 'begun') {
            [$there, $why] = $this->ask('SECKILL.STATUS', $this->sale, 'JSON');
            if ($why !== null && str_starts_with($why, 'NOSALE')) {
                return null;
            }
            $why === null || self::fail($why);
            $status = json_decode($there, true);
            if ($status['state'] !== 'paused' || $this->option('add') === 'yes') {
                self::fail('the sale has sold, and not all is carried over: run it again without --back first');
            }
        }
        $this->stop();
        $units = 0;
        if (!$draws) {
            $units = -$this->call('SECKILL.RESTOCK', $this->sale, self::ALL, 'REQ', 'back')[0];
        }
        $this->say('taken back');
        return $state === 'begun' ? null : $units;
    }

    /** Fails if there is nothing to move back. */
    public function checkBack(): string
    {
        $state = $this->state();
        $state === 'back' && self::fail('it is back already');
        $state === '' && self::fail("nothing was carried over to $this->sale: the old side is as it was");
        return $state;
    }

    /** Pauses the sale and waits until all holds are paid or expired. */
    private function stop(): void
    {
        $this->call('SECKILL.PAUSE', $this->sale);
        while (($held = $this->status()['held']) > 0) {
            fwrite(STDERR, "$held units are held: waiting until they are paid or come back\n");
            usleep(500_000);
        }
    }

    /** Restores the old keys in one step and only once, because the old program may have sold since. */
    public function giveBack(callable $put): void
    {
        $this->transact(function ($old) use ($put) {
            $put($old);
            $old->hSet($this->notes(), 'state', 'back');
        });
    }

    private function transact(callable $put): void
    {
        try {
            $this->old->clearLastError();
            $this->old->multi();
            $put($this->old);
            $all = $this->old->exec();
            $why = $this->old->getLastError() ?? (is_array($all) ? null : 'it did nothing');
        } catch (RedisException $error) {
            $why = $error->getMessage();
        }
        $why === null || self::fail("the old server: $why");
    }

    /** @return Generator<array> the paid grants */
    public function sold(): Generator
    {
        return $this->grantsIn('SOLD');
    }

    /** @return Generator<array> rows of WINNERS */
    public function grantsIn(string $state): Generator
    {
        $cursor = 0;
        do {
            [$cursor, $rows] = $this->call('SECKILL.WINNERS', $this->sale, $cursor, 'COUNT', 1000, 'STATE', $state);
            yield from $rows;
        } while ($cursor !== 0);
    }

    /** @return array<string, mixed> */
    public function status(): array
    {
        return json_decode($this->call('SECKILL.STATUS', $this->sale, 'JSON'), true);
    }

    public static function fail(string $why): never
    {
        fwrite(STDERR, "$why\n");
        exit(1);
    }

    private function say(string $what): void
    {
        $status = $this->status();
        $names = ['state', 'supply', 'available', 'held', 'sold', 'deficit'];
        $told = array_map(fn ($name) => "$name {$status[$name]}", $names);
        echo "$what: ", implode(', ', $told), ", refused while paused {$status['counters']['paused']}\n";
    }

    private function call(mixed ...$words): mixed
    {
        [$reply, $why] = $this->ask(...$words);
        return $why === null ? $reply : self::fail($why);
    }

    /** @return array{mixed, ?string} the reply, or null and the error */
    private function ask(mixed ...$words): array
    {
        // phpredis returns false for an error that begins with ERR, and throws for other codes.
        try {
            $this->new->clearLastError();
            $reply = $this->new->rawCommand(...$words);
            return [$reply, $this->new->getLastError()];
        } catch (RedisException $error) {
            return [null, $error->getMessage()];
        }
    }
}
