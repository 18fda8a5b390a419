<?php

// What the programs of this folder share: they carry a sale from the keys or tables that a shop has
// into a sale of seckill, and back. Each step may be repeated: a program that was stopped anywhere is
// run again, with the same options. With `--open no` the sale stays paused until you have looked and
// say RESUME, or run the program without it. See docs/migrate.md.
//
// HOST:PORT may also be redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss:// with TLS. A password
// that is not to stand on the command line comes from OLD_PASSWORD or NEW_PASSWORD.

declare(strict_types=1);

final class Carry
{
    /** The request id of everything that is carried over: sent again, it changes nothing. */
    private const REQ = 'moved';

    /** All that is available, as a number that stays the same when it is sent again. */
    private const ALL = -9007199254740991;

    /** @param ?Redis $old where the shop's keys are; the SQL family has none */
    private function __construct(
        public readonly ?Redis $old, private readonly Redis $new,
        private readonly string $sale, private readonly array $terms, private readonly array $options,
    ) {}

    /** @param list<string> $needed options of the program itself, beside --new and --sale */
    public static function fromOptions(array $needed, array $optional = []): self
    {
        $all = ['new', 'sale', ...$needed];
        $more = ['old', 'terms', 'back', 'open', ...$optional];
        $options = getopt('', array_map(fn ($name) => "$name:", [...$all, ...$more]));
        foreach ($all as $name) {
            isset($options[$name]) || self::fail("--$name is missing; see docs/migrate.md");
        }
        $terms = preg_split('/ /', $options['terms'] ?? '', -1, PREG_SPLIT_NO_EMPTY);
        if (in_array('EVERY', array_map(strtoupper(...), $terms), true)) {
            // What is left now would be the supply of every later round.
            self::fail('a sale with rounds is begun fresh between two rounds, not carried over');
        }
        $old = isset($options['old']) ? self::connect($options['old'], 'OLD_PASSWORD') : null;
        $new = self::connect($options['new'], 'NEW_PASSWORD');
        return new self($old, $new, $options['sale'], $terms, $options);
    }

    public function option(string $name, string $default = ''): string
    {
        return $this->options[$name] ?? $default;
    }

    /** Whether the sale is to go back to where it came from: `--back yes`. */
    public function isBack(): bool
    {
        return $this->option('back') === 'yes';
    }

    /**
     * Puts a key aside, with what the old program takes for "sold out" in its place, in one step.
     * Where it is aside already nothing happens.
     */
    public function putAside(string $key, ?string $instead): string
    {
        $this->old->multi();
        $this->old->renameNx($key, "$key:moved");
        $instead === null || $this->old->setNx($key, $instead);
        $this->old->exec();
        $this->old->exists("$key:moved") || self::fail("there is no key $key");
        return "$key:moved";
    }

    /**
     * Makes the sale, or takes the one that is there, and pauses it in the same step: nobody buys before
     * all is carried over. Then adds the units, once. A sale that draws has its total from the beginning.
     */
    public function open(int $supply, array $draw = []): void
    {
        $script = "redis.call('SECKILL.INIT', KEYS[1], unpack(ARGV)) return redis.call('SECKILL.PAUSE', KEYS[1])";
        $first = $draw === [] ? 0 : $supply;
        $this->call('EVAL', $script, 1, $this->sale, $first, ...$draw, ...$this->terms);
        if ($first !== $supply) {
            $this->call('SECKILL.RESTOCK', $this->sale, $supply, 'REQ', self::REQ);
        }
    }

    /** Enters somebody who has won already. More than the supply is booked as deficit: it was oversold. */
    public function import(string $user, int $qty = 1, ?string $req = null, int $atMs = 0): void
    {
        $at = $atMs > 0 ? ['AT', $atMs] : [];
        $this->call('SECKILL.IMPORT', $this->sale, $user, $qty, 'REQ', $req ?? self::REQ, ...$at);
    }

    /** @return Generator<string, string> users of a hash (with its values), a set or a list */
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
            case Redis::REDIS_LIST:
                yield from array_fill_keys($this->old->lRange($key, 0, -1), '');
        }
    }

    /** Checks the books, lets buyers in and says what there is. With `--open no` the sale stays paused. */
    public function start(): void
    {
        $audit = $this->call('SECKILL.AUDIT', $this->sale);
        $audit[1] === 1 || self::fail('AUDIT found differences: ' . json_encode($audit));
        $this->option('open') === 'no' || $this->call('SECKILL.RESUME', $this->sale);
        $this->say('moved');
    }

    /** Stops selling, waits for who has yet to pay, and takes what is left out of the sale. */
    public function takeBack(): int
    {
        $this->stop();
        [$applied] = $this->call('SECKILL.RESTOCK', $this->sale, self::ALL, 'REQ', 'back');
        $this->say('taken back');
        return -$applied;
    }

    /** Stops selling and waits for who has yet to pay: until they do, or their holds end. */
    public function stop(): void
    {
        $this->call('SECKILL.PAUSE', $this->sale);
        while (($held = $this->status()['held']) > 0) {
            fwrite(STDERR, "$held units are held: waiting until they are paid or come back\n");
            usleep(500_000);
        }
    }

    /** Gives the old program its keys again, all in one step and once: it may have sold since. */
    public function giveBack(callable $put): void
    {
        $this->old->get("$this->sale:back") === 'done' && self::fail('it is back already');
        $this->old->multi();
        $put($this->old);
        $this->old->set("$this->sale:back", 'done');
        $this->old->exec();
    }

    /** @return Generator<array> the grants that are paid */
    public function sold(): Generator
    {
        $cursor = 0;
        do {
            [$cursor, $rows] = $this->call('SECKILL.WINNERS', $this->sale, $cursor, 'COUNT', 1000, 'STATE', 'SOLD');
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
        echo "$what: ", implode(', ', $told), "\n";
    }

    private function call(mixed ...$words): mixed
    {
        // phpredis returns false for an error that begins with ERR, and throws for other codes.
        try {
            $this->new->clearLastError();
            $reply = $this->new->rawCommand(...$words);
            $why = $this->new->getLastError();
        } catch (RedisException $error) {
            $why = $error->getMessage();
        }
        return $why === null ? $reply : self::fail($why);
    }

    private static function connect(string $address, string $passwordIn): Redis
    {
        $at = parse_url(str_contains($address, '://') ? $address : "redis://$address");
        isset($at['host']) || self::fail('an address is HOST:PORT or redis://USER:PASSWORD@HOST:PORT/DATABASE');
        $password = rawurldecode($at['pass'] ?? '') ?: (string) getenv($passwordIn);
        $user = rawurldecode($at['user'] ?? '');
        $redis = new Redis();
        try {
            $redis->connect(($at['scheme'] === 'rediss' ? 'tls://' : '') . $at['host'], $at['port'] ?? 6379);
            $password === '' || $redis->auth($user === '' ? $password : [$user, $password]);
            // Another database is not what the shop meant: 0 would be taken without a word.
            $redis->select((int) trim($at['path'] ?? '0', '/')) || self::fail((string) $redis->getLastError());
        } catch (RedisException $error) {
            self::fail("{$at['host']}: {$error->getMessage()}");
        }
        return $redis;
    }
}
