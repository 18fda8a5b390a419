<?php

// A temporary MariaDB server with the tables of sample.sql.

declare(strict_types=1);

final class PlainMariaDb
{
    public readonly string $socket;
    private mysqli $connection;

    public function __construct()
    {
        $folder = sys_get_temp_dir() . '/seckill-break-db-' . getmypid();
        $this->socket = "$folder/sock";
        mkdir($folder, 0700);
        $path = 'PATH=$PATH:/usr/sbin; exec ';
        // At its start MariaDB deletes all temporary tables in its tmpdir, also those of other servers.
        $own = '--no-defaults --datadir=' . escapeshellarg("$folder/data") . ' --tmpdir=' . escapeshellarg($folder)
            . (posix_getuid() === 0 ? ' --user=root' : '');
        exec("{$path}mariadb-install-db $own --auth-root-authentication-method=normal --skip-test-db 2>&1", $said, $code);
        $code === 0 || exit("MariaDB is needed for this program, and is not here:\n" . implode("\n", $said) . "\n");
        $quiet = [1 => ['file', '/dev/null', 'w'], 2 => ['file', '/dev/null', 'w']];
        $small = '--innodb-log-file-size=8M --innodb-buffer-pool-size=32M --performance-schema=OFF --skip-networking';
        $server = proc_open("{$path}mariadbd $own $small --socket=" . escapeshellarg($this->socket), $quiet, $pipes);
        register_shutdown_function(function () use ($server, $folder) {
            proc_terminate($server);
            proc_close($server);
            exec('rm -rf ' . escapeshellarg($folder));
        });
        $deadline = microtime(true) + 60;
        mysqli_report(MYSQLI_REPORT_OFF);
        while (!($connection = @new mysqli('localhost', 'root', '', '', 0, $this->socket)) || $connection->connect_errno) {
            microtime(true) < $deadline || exit("MariaDB does not start\n");
            usleep(20_000);
        }
        mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
        $this->connection = $connection;
        $connection->multi_query(file_get_contents(dirname(__DIR__) . '/sample.sql'));
        while ($connection->more_results() && $connection->next_result()) {
            continue;
        }
    }

    public function run(string $statement): void
    {
        $this->connection->query($statement);
    }
}
