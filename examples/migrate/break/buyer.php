<?php

// A buyer: a process that runs the program, and stands still before each of its commands until it is told to go on.

declare(strict_types=1);

final class Buyer
{
    /** Who sends nothing for so long, and has not ended, waits for the other: a lock. */
    private const SILENCE = 2.0;

    /** Runs before the program: the framework of the posts, and what a web server would say. */
    private const PREPEND = '<?php
        parse_str((string) getenv("QUERY"), $_GET);
        require getenv("FRAMEWORK");';

    /** @var resource */
    private $process;
    /** @var resource */
    private $door;
    /** @var array<int, array{resource, resource}> the program's connections, and those behind them */
    private array $connections = [];
    /** @var array{resource, resource} the one that has a command to send */
    private array $next;
    /** @var ?array{resource, string} an answer of Redis that it has not heard yet, and where it goes */
    private ?array $kept = null;
    private readonly string $file;

    /** @param list<array{string, string}> $log what was sent, in order */
    public function __construct(
        private readonly string $name, string $program, string $query, private readonly int $redis, private array &$log,
    ) {
        $this->door = stream_socket_server('tcp://127.0.0.1:0');
        $port = explode(':', stream_socket_get_name($this->door, false))[1];
        $this->file = tempnam(sys_get_temp_dir(), 'seckill-break-');
        $source = preg_replace('/->p?connect\s*\((?:[^()]|\([^()]*\))*\)/i', "->connect('127.0.0.1', $port)",
            file_get_contents($program));
        file_put_contents($this->file, preg_replace('/\bu?sleep\s*\([^()]*\)\s*;/', ';', $source));
        file_put_contents("$this->file.first", self::PREPEND);
        $env = ['REDIS_PORT' => $port, 'QUERY' => $query, 'LAB_FOLDER' => sys_get_temp_dir(), 'PATH' => getenv('PATH'),
            'FRAMEWORK' => dirname(__DIR__, 3) . '/tools/lab/php/prepend.php'];
        $to = ['file', "$this->file.told", 'w'];
        $words = [PHP_BINARY, '-d', "auto_prepend_file=$this->file.first", '-d', 'html_errors=0', $this->file];
        $this->process = proc_open($words, [1 => $to, 2 => $to], $pipes, null, $env);
    }

    public function __destruct()
    {
        $this->kill();
        array_map(unlink(...), [$this->file, "$this->file.first", "$this->file.told"]);
    }

    /**
     * Lets it send so many commands, or all. The answer to the last of so many is kept back: there it stands
     * still, or dies. False if it ends before, or waits for the other.
     */
    public function run(?int $commands = null): bool
    {
        $this->answer();
        for ($sent = 0; $sent !== $commands; $sent++) {
            $this->answer();
            if (!$this->waitForCommand()) {
                return $commands === null && $this->hasEnded();
            }
            $this->pass();
        }
        return true;
    }

    public function kill(): void
    {
        if (is_resource($this->process)) {
            proc_terminate($this->process, 9);
            proc_close($this->process);
        }
        $this->connections = [];
    }

    /** All it said. */
    public function told(): string
    {
        return file_get_contents("$this->file.told");
    }

    /** What it said, in a line, without a dump behind it. */
    public function says(): string
    {
        $line = trim(preg_replace('/<pre>.*|\s+|<br\/>/s', ' ', $this->told()));
        return $line === '' ? 'nothing' : preg_replace('/^(.{60}).+/u', '$1...', $line);
    }

    private function hasEnded(): bool
    {
        return !is_resource($this->process) || !proc_get_status($this->process)['running'];
    }

    /** Whether one of its connections has a command to send; false if it has ended, or waits for the other. */
    private function waitForCommand(): bool
    {
        $deadline = microtime(true) + self::SILENCE;
        while (microtime(true) < $deadline && !$this->hasEnded()) {
            $readable = [$this->door, ...array_column($this->connections, 0)];
            $none = null;
            stream_select($readable, $none, $none, 0, 20_000);
            foreach ($readable as $stream) {
                if ($stream === $this->door) {
                    $client = stream_socket_accept($this->door);
                    $this->connections[(int) $client] = [$client, stream_socket_client("tcp://127.0.0.1:$this->redis")];
                } elseif (stream_socket_recvfrom($stream, 1, STREAM_PEEK) === '') {
                    unset($this->connections[(int) $stream]);
                } else {
                    $this->next = $this->connections[(int) $stream];
                    return true;
                }
            }
        }
        return false;
    }

    /** Sends a command on, and keeps what Redis answers. */
    private function pass(): void
    {
        [$client, $redis] = $this->next;
        $command = Told::read($client);
        fwrite($redis, $command->raw);
        $reply = Told::read($redis);
        $this->log[] = [$this->name, "$command->text -> " . ($reply->text === '' ? 'nothing' : $reply->text)];
        $this->kept = [$client, $reply->raw];
    }

    private function answer(): void
    {
        $this->kept === null || fwrite(...$this->kept);
        $this->kept = null;
    }
}
