<?php

// Logs in, makes the account of a new name, and logs out.

require __DIR__ . '/../lib/shop.php';

session_start();
$_SESSION['csrf'] ??= bin2hex(random_bytes(16));
$say = '';
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    hash_equals($_SESSION['csrf'], word('csrf')) || refuse(403, '页面已过期，请刷新后再试');
    if (word('leave') !== '') {
        session_destroy();
        go('/');
    }
    $account = enter(trim(word('name')), word('password'));
    if ($account !== null) {
        // A number that somebody may have planted in this browser before is worth nothing now.
        session_regenerate_id(true);
        $_SESSION = ['account' => $account, 'csrf' => bin2hex(random_bytes(16))];
        go('/');
    }
    $say = '名字或密码不对（密码至少 8 位）';
}
page('登录', null, function (string $csrf) use ($say) {
    echo '<h1>登录 / 注册</h1><form method="post"><input type="hidden" name="csrf" value="', $csrf, '">',
        '<p><input name="name" placeholder="名字" maxlength="40" required autofocus></p>',
        '<p><input name="password" type="password" placeholder="密码" minlength="8" required></p>',
        '<p><button>进入</button></p><p role="status">', $say, '</p></form><p><small>新名字会自动注册。</small></p>';
});

function enter(string $name, string $password): ?array
{
    if (preg_match('/^\X{1,40}$/uD', $name) !== 1 || strlen($password) < 8 || strlen($password) > 72) {
        return null;
    }
    $database = database();
    $find = 'SELECT id, name, password, operator FROM accounts WHERE name = ?';
    $account = query($database, $find, [$name])->fetch();
    if ($account === false) {
        $make = 'INSERT INTO accounts (name, password) VALUES (?, ?) ON DUPLICATE KEY UPDATE id = id';
        query($database, $make, [$name, password_hash($password, PASSWORD_DEFAULT)]);
        $account = query($database, $find, [$name])->fetch();
    }
    if (!password_verify($password, $account['password'])) {
        return null;
    }
    return ['id' => $account['id'], 'name' => $account['name'], 'operator' => (bool) $account['operator']];
}
