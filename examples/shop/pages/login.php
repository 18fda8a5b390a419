<?php

// Logs in, creates the account of a new name, and logs out.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/database.php';

const TRIES = 5;
const TRIES_MIN = 15;

if (word('leave') !== '') {
    account_that_posts();
    session_start();
    session_destroy();
    go('/');
}

// Without a login there is no session: the form's token is in a cookie that other sites' forms don't send.
$token = $_COOKIE['login'] ?? '';
if (!is_string($token) || preg_match('/^[0-9a-f]{32}$/D', $token) !== 1) {
    $token = bin2hex(random_bytes(16));
    setcookie('login', $token, ['path' => '/login.php', 'httponly' => true, 'samesite' => 'Strict']);
}
$say = '';
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    hash_equals($token, word('csrf')) || refuse(403, t('页面已过期，请刷新后再试'));
    $account = enter(trim(word('name')), word('password'));
    if ($account !== null) {
        // Only after bcrypt, because an open session is locked. The id is replaced, because an attacker may have
        // planted the old one in this browser.
        session_start();
        session_regenerate_id(true);
        $_SESSION = ['account' => $account, 'csrf' => bin2hex(random_bytes(16))];
        go('/');
    }
    $say = t('名字或密码不对');
}
page(t('登录'), null, '<h1>' . t('登录 / 注册') . '</h1><form method="post">' . fields(['csrf' => $token])
    . '<p><input name="name" placeholder="' . t('名字') . '" maxlength="40" required autofocus></p>'
    . '<p><input name="password" type="password" placeholder="' . t('密码') . '" minlength="8" required></p><p><button>'
    . t('进入') . "</button></p><p role=\"status\">$say</p></form><p><small>"
    . t('新名字会自动注册。名字用汉字、字母和数字，密码至少 8 位。') . '</small></p>');

/** The account of this name if the password is right. A new name gets this password. */
function enter(string $name, string $password): ?array
{
    // A name has no invisible letters and none that look like others.
    if (preg_match('/^[\p{Han}a-z0-9_.-]{1,40}$/uiD', $name) !== 1 || preg_match('/^[^\0]{8,72}$/sD', $password) !== 1) {
        return null;
    }
    $database = database();
    may_try($database, $name);
    $find = 'SELECT id, name, password, operator FROM accounts WHERE name = ?';
    $account = query($database, $find, [$name])->fetch();
    if ($account === false) {
        $make = 'INSERT IGNORE INTO accounts (name, password) VALUES (?, ?)';
        query($database, $make, [$name, password_hash($password, PASSWORD_DEFAULT)]);
        $account = query($database, $find, [$name])->fetch();
    }
    if (!password_verify($password, $account['password'])) {
        return null;
    }
    query($database, 'DELETE FROM tries WHERE name = ? AND address = ?', [$name, $_SERVER['REMOTE_ADDR']]);
    return ['id' => $account['id'], 'name' => $account['name'], 'operator' => (bool) $account['operator']];
}

/** Counts a try before the password is checked, because simultaneous tries would count as one. It counts by address,
 * so that an attacker can't lock a user out. */
function may_try(PDO $database, string $name): void
{
    $who = [$name, $_SERVER['REMOTE_ADDR']];
    query($database, 'DELETE FROM tries WHERE at < NOW() - INTERVAL ? MINUTE', [TRIES_MIN]);
    query($database, 'INSERT INTO tries (name, address) VALUES (?, ?)', $who);
    $tries = query($database, 'SELECT COUNT(*) FROM tries WHERE name = ? AND address = ?', $who)->fetchColumn();
    $tries <= TRIES || refuse(429, t('试得太多，请 %d 分钟后再来', TRIES_MIN));
}
