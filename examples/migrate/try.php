<?php

// Tries a page of pages/ unchanged, without a web server and a login: two users click twice each for the only unit of
// sale:try. The sale is deleted afterwards. A row that the page wrote has the order try-1 or try-2.
//
//   php try.php PAGE [TERMS [HOST:PORT [USER USER]]] [--lang zh]
//   php try.php PAGE as USER
//
// TERMS are the terms of the sale (default 'LIMIT 1'). HOST:PORT is the server with the module that the page uses. The
// users are 1 and 2 by default. The page needs its own address and database, and $key = 'sale:try'. With `as` one user
// clicks once on the page's own sale, which should be paused.

declare(strict_types=1);

require __DIR__ . '/lang.php';

/** One click of a user in a separate process, with login.php as the login. */
function click(string $page, string $user, string $order): void
{
    putenv("TRY_USER=$user");
    putenv("TRY_ORDER=$order");
    echo "user $user is told: ";
    passthru(escapeshellarg(PHP_BINARY) . ' -d auto_prepend_file=' . escapeshellarg(__DIR__ . '/login.php') . ' '
        . escapeshellarg($page));
    echo "\n";
}

[, $page, $terms, $server, $first, $second] = Chinese::withoutLanguage($argv) + ['', '', 'LIMIT 1', '', '1', '2'];
is_file($page) || exit("php try.php PAGE [TERMS [HOST:PORT [USER USER]]]\n");
$folder = sys_get_temp_dir() . '/seckill-try-' . getmypid();
mkdir($folder, 0700);
putenv("TRY_FOLDER=$folder");
register_shutdown_function(function () use ($folder) {
    array_map(unlink(...), glob("$folder/*"));
    rmdir($folder);
});
if ($terms === 'as') {
    click($page, $server, 'try-' . bin2hex(random_bytes(8)));
    exit;
}
if (!str_contains(file_get_contents($page), "'sale:try'")) {
    fwrite(STDERR, "$page sells from another sale than sale:try\n");
    exit(1);
}
preg_match('/->connect\(\'([^\']+)\', (\d+)\)/', file_get_contents($page), $its);
[$host, $port] = $server === '' ? [$its[1] ?? '127.0.0.1', $its[2] ?? '6390'] : explode(':', $server);
$redis = new Redis();
try {
    $redis->connect($host, (int) $port);
    $redis->del('sale:try');
} catch (RedisException $why) {
    fwrite(STDERR, "$host:$port, the server with the module: {$why->getMessage()}\n");
    exit(1);
}
$redis->rawCommand('SECKILL.INIT', 'sale:try', '1', ...preg_split('/ /', $terms, -1, PREG_SPLIT_NO_EMPTY));
if ($redis->getLastError() !== null) {
    fwrite(STDERR, "{$redis->getLastError()}\n");
    exit(1);
}
putenv('TRY_ID=' . json_decode($redis->rawCommand('SECKILL.STATUS', 'sale:try', 'JSON'))->id);
foreach ([[$first, 'try-1'], [$first, 'try-1'], [$second, 'try-2'], [$second, 'try-2']] as [$user, $order]) {
    click($page, $user, $order);
}
$redis->del('sale:try');
