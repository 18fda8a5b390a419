<?php

// A temporary Redis server, and messages between a client and a server.

declare(strict_types=1);

final class PlainRedis
{
    public readonly int $port;
    private mixed $connection;

    public function __construct()
    {
        $free = stream_socket_server('tcp://127.0.0.1:0');
        $this->port = (int) explode(':', stream_socket_get_name($free, false))[1];
        fclose($free);
        $words = ['redis-server', '--port', "$this->port", '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
        $server = proc_open($words, [1 => ['file', '/dev/null', 'w'], 2 => ['file', '/dev/null', 'w']], $pipes);
        register_shutdown_function(fn () => proc_terminate($server));
        $deadline = microtime(true) + 10;
        while (!$this->connection = @stream_socket_client("tcp://127.0.0.1:$this->port")) {
            microtime(true) < $deadline || exit("redis-server does not start: is it installed?\n");
            usleep(10_000);
        }
    }

    /** Sends a line as redis-cli does. Returns the reply as text. */
    public function call(string $line): string
    {
        fwrite($this->connection, "$line\r\n");
        return Told::read($this->connection)->text;
    }
}

/** A message between client and server. */
final class Told
{
    private function __construct(public readonly string $raw, public readonly string $text) {}

    /** @param resource $stream */
    public static function read($stream): ?self
    {
        $line = fgets($stream);
        if ($line === false) {
            return null;
        }
        $rest = trim(substr($line, 1));
        if ($line[0] === '$' && (int) $rest >= 0) {
            $text = stream_get_contents($stream, (int) $rest + 2);
            return new self($line . $text, substr($text, 0, -2));
        }
        if ($line[0] !== '*' || (int) $rest < 0) {
            return new self($line, in_array($line[0], ['$', '*'], true) ? 'nil' : $rest);
        }
        $parts = [];
        for ($at = 0; $at < (int) $rest; $at++) {
            $parts[] = self::read($stream);
        }
        return new self($line . implode('', array_column($parts, 'raw')), implode(' ', array_column($parts, 'text')));
    }
}
