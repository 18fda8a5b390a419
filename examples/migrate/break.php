<?php

// Shows how a program oversells, or leaves units unsold. Two buyers run it at the same time with a separate Redis,
// and one of them is paused. Each place for the pause is tried, until the numbers are wrong.
//
//   php break.php PROGRAM --units 1 --set 'SET goods 1'[;...] [--dies yes] [--then 'DEL lock:goods']
//       [--sql yes] [--won '秒杀成功|抢购成功|抢红包成功|success'] [--lang zh]
//
// It does not use your servers. It refuses a program that might reach them: by other files (require), PDO,
// Predis, mysqli_connect, curl. Put the lines of such a page into one file with its own connect().
//
// PROGRAM is a page or a script with phpredis or mysqli, also one of yours (page.php?demo=2 sets $_GET). The
// arguments of connect() and of new mysqli() are replaced, and sleep() is skipped. --set fills the stock of --units
// units by Redis commands, or by SQL with --sql yes, which has the tables of sample.sql. --dies: the paused buyer's
// process ends. --then is sent during the pause, for example to end a lock's lease.

declare(strict_types=1);

require __DIR__ . '/lang.php';
require __DIR__ . '/break/buyer.php';
require __DIR__ . '/break/mariadb.php';
require __DIR__ . '/break/redis.php';

$words = array_slice(Chinese::withoutLanguage($argv), 1);
[$program, $query] = explode('?', array_shift($words) ?? '', 2) + ['', ''];
$names = preg_replace('/^--/', '', array_column(array_chunk($words, 2), 0));
$options = count($words) % 2 === 0 ? array_combine($names, array_column(array_chunk($words, 2), 1)) : [];
if (!is_file($program) || !isset($options['units'], $options['set'])
    || array_diff_key($options, array_flip(['units', 'set', 'dies', 'then', 'won', 'sql'])) !== []) {
    preg_match('~^//.*(?:\n//.*)*~m', file_get_contents(__FILE__), $head);
    exit(preg_replace('~^// ?~m', '', $head[0]) . "\n");
}
$units = (int) $options['units'];
$redis = new PlainRedis();
$database = isset($options['sql']) ? new PlainMariaDb() : null;
$won = '/' . ($options['won'] ?? '秒杀成功|抢购成功|抢红包成功|success') . '/u';
for ($stop = 1; $stop <= 30; $stop++) {
    $redis->call('FLUSHALL');
    array_map($database === null ? $redis->call(...) : $database->run(...), explode(';', $options['set']));
    $log = [];
    $a = new Buyer('A', $program, $query, $redis->port, $log, $database?->socket);
    if (!$a->run($stop)) {
        break;
    }
    // Started only now, because before its first command B could take a file lock that A needs.
    $b = new Buyer('B', $program, $query, $redis->port, $log, $database?->socket);
    if (isset($options['then'])) {
        $log[] = ['', "{$options['then']} -> " . $redis->call($options['then'])];
    }
    if (isset($options['dies'])) {
        $a->kill();
        $log[] = ['', 'A dies'];
    }
    // A buyer that waits for the other's lock continues after the other.
    $b->run() || $a->run();
    $b->run();
    $a->run();
    $told = count(array_filter([$a, $b], fn ($buyer) => preg_match($won, $buyer->told()) === 1));
    if ($told !== min($units, 2)) {
        $before = ['A' => 'A  ', 'B' => str_repeat(' ', 30) . 'B  ', '' => '*** '];
        foreach ($log as [$name, $line]) {
            echo $before[$name], $line, "\n";
        }
        exit("A is told: {$a->says()}\nB is told: {$b->says()}\nthere were $units, and $told of 2 were told \"yours\"\n");
    }
}
if ($log === []) {
    fwrite(STDERR, "it has sent nothing, so nothing is known: it said {$a->says()}\n");
    exit(1);
}
echo "right with 2 buyers, wherever one of them stops\n";
