<?php

// Actions of an attacker inside a pool; the test's web server runs this file there.

$at = getenv('DATABASE_AT');
$socket = explode('=', $at)[1];
$open = [];
foreach (['root', get_current_user(), posix_getpwuid(posix_geteuid())['name'], ''] as $user) {
    try {
        new PDO("mysql:$at", $user, '');
        $open[] = $user;
    } catch (PDOException) {
    }
}
$run = dirname($socket, 2);
$files = array_filter(["$run/fpm.conf", "$run/data/redis.conf", ...(glob("$run/secrets/*") ?: [])], is_readable(...));
header('Content-Type: application/json');
echo json_encode(['user' => posix_getpwuid(posix_geteuid())['name'], 'env' => getenv(), 'databases' => $open, 'files' => $files]);
