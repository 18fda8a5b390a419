<?php

// The options of a program, its help text, and its connections.

declare(strict_types=1);

final class Options
{
    private const OF_ALL = ['new', 'sale'];
    private const MAY_BE = ['old', 'terms', 'back', 'open', 'add', 'empty', 'enter-late', 'lang'];
    private const USAGE = <<<'TEXT'

    --old and --new are HOST:PORT or redis://USER:PASSWORD@HOST:PORT/DATABASE (rediss:// for TLS); a password
    may be in OLD_PASSWORD, NEW_PASSWORD and DB_PASSWORD. Keys and --sale have the prefix that redis-cli shows.
      --terms 'LIMIT 1'   the rules of the sale, as SECKILL.INIT has them
      --open no           leaves the sale paused until your SECKILL.RESUME
      --add yes           the sale sells already, beside the old program
      --empty yes         nobody has won yet: the record of winners is not there
      --enter-late yes    enters what the old program has sold since; no: leaves it out, on the way back
      --back yes          gives the old side what is left
      --lang zh           says what it does in Chinese (中文输出)
    Sent again, it does nothing twice. It ends with 0, with 1 if it was refused, and with 2 if the old program
    has sold or written since. The whole way: docs/migrate.md, docs/zh/migrate.md

    TEXT;

    /** @return array<string, string> the options of this call; exits for --help and for an error */
    public static function read(array $needed, array $optional): array
    {
        $needed = [...self::OF_ALL, ...$needed];
        $known = [...$needed, ...self::MAY_BE, ...$optional];
        $words = array_slice($_SERVER['argv'], 1);
        if ($words === [] || in_array('--help', $words, true)) {
            echo self::usage();
            exit;
        }
        foreach (preg_grep('/^--/', $words) as $word) {
            // A typing error in --open no would open the sale.
            $name = substr(explode('=', $word)[0], 2);
            in_array($name, $known, true) || Carry::fail("there is no option --$name; see --help");
        }
        $options = getopt('', array_map(fn ($name) => "$name:", $known), $rest);
        isset($words[$rest - 1]) && Carry::fail("no option takes {$words[$rest - 1]}: is a quote missing?");
        foreach ($needed as $name) {
            isset($options[$name]) || Carry::fail("--$name is missing; see --help");
        }
        foreach ($options as $name => $value) {
            is_string($value) || Carry::fail("--$name is there twice");
        }
        return $options;
    }

    /** The comment at the beginning of the program, and the options of all programs. */
    private static function usage(): string
    {
        preg_match('~^//.*(?:\n//.*)*~m', file_get_contents($_SERVER['SCRIPT_FILENAME']), $head);
        return preg_replace('~^// ?~m', '', $head[0]) . "\n" . self::USAGE . "\n";
    }

    public static function connect(string $address, string $passwordIn): Redis
    {
        $at = parse_url(str_contains($address, '://') ? $address : "redis://$address");
        isset($at['host']) || Carry::fail('an address is HOST:PORT or redis://USER:PASSWORD@HOST:PORT/DATABASE');
        $password = rawurldecode($at['pass'] ?? '') ?: (string) getenv($passwordIn);
        $user = rawurldecode($at['user'] ?? '');
        $redis = new Redis();
        try {
            $redis->connect(($at['scheme'] === 'rediss' ? 'tls://' : '') . $at['host'], $at['port'] ?? 6379);
            $password === '' || $redis->auth($user === '' ? $password : [$user, $password]);
            // A failed SELECT must be an error, because database 0 would be used instead.
            $redis->select((int) trim($at['path'] ?? '0', '/')) || Carry::fail((string) $redis->getLastError());
        } catch (RedisException $error) {
            Carry::fail("{$at['host']}: {$error->getMessage()}");
        }
        return $redis;
    }
}
