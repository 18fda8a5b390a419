<?php

// Replaces mysqli in a program that break.php runs. Each statement stops before it is sent, and after its result,
// until break.php lets it continue.

declare(strict_types=1);

final class SteppedMysqli extends mysqli
{
    /** @var resource to break.php */
    private $gate;

    public function __construct(mixed ...$replaced)
    {
        parent::__construct('localhost', 'root', '', 'shop', 0, getenv('SQL_SOCKET'));
        $this->gate = stream_socket_client('tcp://127.0.0.1:' . getenv('GATE_PORT'));
    }

    public function query(string $query, int $result_mode = MYSQLI_STORE_RESULT): mysqli_result|bool
    {
        $result = null;
        $this->step($query, function () use ($query, &$result) {
            $result = parent::query($query);
            if (!$result instanceof mysqli_result) {
                return $this->affected_rows . ($this->affected_rows === 1 ? ' row' : ' rows');
            }
            $row = $result->fetch_row() ?? ['no row'];
            $result->data_seek(0);
            return implode(' ', $row);
        });
        return $result;
    }

    public function begin_transaction(int $flags = 0, ?string $name = null): bool
    {
        return $this->step('BEGIN', fn () => parent::begin_transaction() ? 'OK' : 'failed');
    }

    public function commit(int $flags = 0, ?string $name = null): bool
    {
        return $this->step('COMMIT', fn () => parent::commit() ? 'OK' : 'failed');
    }

    public function rollback(int $flags = 0, ?string $name = null): bool
    {
        return $this->step('ROLLBACK', fn () => parent::rollback() ? 'OK' : 'failed');
    }

    private function step(string $statement, callable $run): bool
    {
        $this->say('SQL', $statement);
        fgets($this->gate);
        // A statement that waited for a lock may affect other rows than without the wait.
        $this->say('RESULT', $run());
        fgets($this->gate);
        return true;
    }

    private function say(string ...$words): void
    {
        $line = '*' . count($words) . "\r\n";
        foreach ($words as $word) {
            $line .= '$' . strlen($word) . "\r\n$word\r\n";
        }
        fwrite($this->gate, $line);
    }
}
