<?php

// A buyer: a process that runs the program. It stops before each of its commands until break.php lets it continue.

declare(strict_types=1);

final class Buyer
{
    /** A running buyer without a command for this many ms waits for the other's lock. The first command may take
     * longer. */
    private const SILENCE_MS = 500;
    private const START_MS = 5_000;

    /** A buyer that repeats a command this often with an unchanged reply waits for the other, too. */
    private const TURNS = 5;

    /** Runs before the program: the framework of the posts, and the variables of a web server. */
    private const PREPEND = '<?php
        parse_str((string) getenv("QUERY"), $_GET);
        require getenv("FRAMEWORK");
        require getenv("STEPPED");';

    private const CONNECT = '/->p?connect\s*\((?:[^()]|\([^()]*\))*\)/i';
    /** Ways to a server, a file or a program other than CONNECT and MYSQLI, and names made at run time. */
    private const ELSEWHERE = '/\b(PDO|Predis|Relay|Memcached?|SoapClient|Redis(Cluster|Array|Sentinel)|include|require)\b
        |\b(include|require)_once\b|\bmysqli_(\w*connect|init|connection)\b|\breal_connect\b|\beval\b
        |\b(p?fsockopen|(stream_)?socket_\w+|curl_\w+|fopen\s*\(\s*[\'"]\w+:|file_get_contents|call_user_func\w*)\b
        |(?<!->)(?<!::)\b(exec|shell_exec|system|passthru|proc_open|popen|mail|ini_set|dl|putenv)\s*\(
        |`|->\s*p?open\s*\(|[\'"]p?connect[\'"]|\bnew\s*\$|\bextends\s+\\\\?(Redis|mysqli)\b
        |\bnew\s+\\\\?Redis\s*\(\s*[^\s)]/ix';
    private const MYSQLI = '/\bnew\s+\\\\?mysqli\b/i';

    /** @var resource */
    private $process;
    /** @var resource */
    private $door;
    /** @var array<int, array{resource, resource}> the program's connections, each with its connection to the server */
    private array $connections = [];
    /** @var array{resource, resource} the connection with the next command */
    private array $next;
    private int $turns = 0;
    /** A sent statement without a result. */
    private ?string $statement = null;
    /** @var ?array{resource, string} a reply of Redis that is held back, with its connection */
    private ?array $kept = null;
    private readonly string $file;

    /** @param list<array{string, string}> $log sent commands in order */
    public function __construct(
        private readonly string $name, string $program, string $query, private readonly int $redis, private array &$log,
        ?string $sqlSocket,
    ) {
        $text = file_get_contents($program);
        self::check($text);
        $this->door = stream_socket_server('tcp://127.0.0.1:0');
        $port = explode(':', stream_socket_get_name($this->door, false))[1];
        $this->file = tempnam(sys_get_temp_dir(), 'seckill-break-');
        $to = "->connect('127.0.0.1', $port)";
        $source = preg_replace(self::CONNECT, $to, preg_replace(self::MYSQLI, 'new SteppedMysqli', $text));
        file_put_contents($this->file, preg_replace('/\bu?sleep\s*\([^()]*\)\s*;/', ';', $source));
        file_put_contents("$this->file.first", self::PREPEND);
        $env = ['REDIS_PORT' => $port, 'QUERY' => $query, 'LAB_FOLDER' => sys_get_temp_dir(), 'PATH' => getenv('PATH'),
            'FRAMEWORK' => dirname(__DIR__, 3) . '/lab/php/prepend.php', 'GATE_PORT' => $port,
            'SQL_SOCKET' => (string) $sqlSocket, 'STEPPED' => __DIR__ . '/sql.php'];
        $to = ['file', "$this->file.told", 'w'];
        // Functions that check() overlooks are disabled: only the stub of mysqli opens a stream.
        $words = [PHP_BINARY, '-d', 'disable_classes=PDO,RedisCluster,RedisArray,RedisSentinel', '-d',
            'disable_functions=fsockopen,pfsockopen,socket_connect,curl_exec,mysqli_connect,mysqli_real_connect,exec,'
            . 'shell_exec,system,passthru,proc_open,popen,mail' . ($sqlSocket === null ? ',stream_socket_client' : ''), '-d', 'allow_url_fopen=0', '-d', "auto_prepend_file=$this->file.first", '-d', 'html_errors=0', $this->file];
        $this->process = proc_open($words, [1 => $to, 2 => $to], $pipes, null, $env);
    }

    /** Refuses a program that could reach other servers than those of the test. */
    private static function check(string $source): void
    {
        $source = self::withoutComments($source);
        preg_match(self::ELSEWHERE, $source, $found);
        $why = $found === [] ? null : 'it has ' . trim($found[0]);
        // A connect that CONNECT does not match would reach a server of the shop.
        if (preg_match_all('/(->|::)\s*p?connect\b/i', $source) !== preg_match_all(self::CONNECT, $source)) {
            $why ??= 'it connects in a way that is not understood';
        }
        if (!preg_match(self::CONNECT, $source) && !preg_match(self::MYSQLI, $source)) {
            $why ??= str_contains($source, 'ApplicationContext') ? null : 'it connects to nothing';
        }
        if ($why !== null) {
            fwrite(STDERR, "$why: break.php runs a single file that connects by itself, with phpredis or mysqli\n");
            exit(1);
        }
    }

    /** The code without comments, which may have any words. */
    private static function withoutComments(string $source): string
    {
        $isComment = fn (PhpToken $token) => $token->is([T_COMMENT, T_DOC_COMMENT, T_INLINE_HTML]);
        $code = array_filter(PhpToken::tokenize($source), fn (PhpToken $token) => !$isComment($token));
        return implode('', array_column($code, 'text'));
    }

    public function __destruct()
    {
        $this->kill();
        array_map(unlink(...), [$this->file, "$this->file.first", "$this->file.told"]);
    }

    /**
     * Lets the buyer send this many commands, or all. The reply to the last one is held back, so that the buyer
     * stops or dies there. False if the buyer ends earlier or waits for the other.
     */
    public function run(?int $commands = null): bool
    {
        for ($sent = 0; $sent !== $commands; $sent++) {
            $this->answer();
            if (!$this->waitForCommand()) {
                return $commands === null && $this->hasEnded();
            }
            if (!$this->pass() || $this->turns === self::TURNS) {
                $this->turns = 0;
                return false;
            }
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

    /** The program's whole output. */
    public function told(): string
    {
        return file_get_contents("$this->file.told");
    }

    /** The program's output, in one line, without a stack trace. */
    public function says(): string
    {
        $line = trim(preg_replace('/<pre>.*|\s+|<br\/>/s', ' ', $this->told()));
        return $line === '' ? 'nothing' : preg_replace('/^(.{60}).+/u', '$1...', $line);
    }

    private function hasEnded(): bool
    {
        return !is_resource($this->process) || !proc_get_status($this->process)['running'];
    }

    /** Waits for a command on one of the connections; false if the buyer has ended or waits for the other. */
    private function waitForCommand(): bool
    {
        if ($this->statement !== null) {
            return true;
        }
        $deadline = microtime(true) + ($this->connections === [] ? self::START_MS : self::SILENCE_MS) / 1000;
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

    /** Forwards a command and holds the reply back. False for a statement that waits for a lock. */
    private function pass(): bool
    {
        [$client, $redis] = $this->next;
        if ($this->statement === null) {
            $command = Told::read($client);
            if (!str_starts_with($command->text, 'SQL ')) {
                fwrite($redis, $command->raw);
                $reply = Told::read($redis);
                $this->note("$command->text -> " . ($reply->text === '' ? 'nothing' : $reply->text));
                $this->kept = [$client, $reply->raw];
                return true;
            }
            $this->statement = substr($command->text, strlen('SQL '));
            fwrite($client, "go\n");
        }
        $readable = [$client];
        $none = null;
        if (stream_select($readable, $none, $none, 0, 1000 * self::SILENCE_MS) === 0) {
            $this->note("$this->statement waits");
            return false;
        }
        $result = substr(Told::read($client)->text, strlen('RESULT '));
        $this->note("$this->statement -> $result");
        $this->statement = null;
        $this->kept = [$client, "go\n"];
        return true;
    }

    private function note(string $line): void
    {
        $isAgain = end($this->log) === [$this->name, $line];
        $this->turns = $isAgain ? $this->turns + 1 : 0;
        $isAgain || $this->log[] = [$this->name, $line];
    }

    private function answer(): void
    {
        $this->kept === null || fwrite(...$this->kept);
        $this->kept = null;
    }
}
