<?php

// Shared by the pages: texts, forms, the login, and the frame of a page.

declare(strict_types=1);

// An error's text goes only to the log, because visitors can do nothing but retry.
set_exception_handler(function (Throwable $why) {
    error_log($why::class . ": {$why->getMessage()} at {$why->getFile()}:{$why->getLine()}");
    refuse(503, t('活动火爆，请稍后再试'));
});

/** zh or en: chosen by the link on each page, otherwise by the browser's header. */
function lang(): string
{
    $asked = $_GET['lang'] ?? $_COOKIE['lang'] ?? substr($_SERVER['HTTP_ACCEPT_LANGUAGE'] ?? '', 0, 2);
    return $asked === 'en' ? 'en' : 'zh';
}

/** A text of the shop in the visitor's language; %d and %s stand for the values. */
function t(string $words, int|string ...$values): string
{
    static $english = null;
    if (lang() === 'en') {
        $english ??= require __DIR__ . '/english.php';
        $words = $english[$words];
    }
    return $values === [] ? $words : sprintf($words, ...$values);
}

/** The separator between the words of a list. */
function comma(): string
{
    return lang() === 'en' ? ', ' : '、';
}

/**
 * The account of the request. The session is closed at once, because its file is locked while it is open, so a
 * second click would wait for the first one's answer. A visitor without a session gets none.
 */
function account(): ?array
{
    if (!has_session()) {
        return null;
    }
    session_start(['read_and_close' => true]);
    return $_SESSION['account'] ?? null;
}

/** Checks the cookie first, because PHP would make a session file for every unknown id. */
function has_session(): bool
{
    $id = $_COOKIE[session_name()] ?? '';
    return is_string($id) && preg_match('/^[a-z0-9,-]{48}$/Di', $id) === 1
        && is_file(session_save_path() . "/sess_$id");
}

/** The account of a request that changes something: it must be a POST, with the token of a page of this shop. */
function account_that_posts(): array
{
    $account = account() ?? refuse(401, t('请先登录'));
    $_SERVER['REQUEST_METHOD'] === 'POST' || refuse(405, t('只接受 POST'));
    hash_equals(csrf(), word('csrf')) || refuse(403, t('页面已过期，请刷新后再试'));
    return $account;
}

function csrf(): string
{
    return $_SESSION['csrf'] ?? '';
}

/** A field of a form; an array or nothing counts as empty. */
function word(string $field): string
{
    $value = $_POST[$field] ?? $_GET[$field] ?? '';
    return is_string($value) ? $value : '';
}

/** A number of a form within its bounds; anything else, nothing included, is refused. */
function number(string $field, int $least, int $most): int
{
    $number = filter_var(word($field), FILTER_VALIDATE_INT, ['options' => ['min_range' => $least, 'max_range' => $most]]);
    return $number === false ? refuse(400, t('请填 %d 到 %d 的整数', $least, $most)) : $number;
}

/** Sends a refusal: a page for a browser, JSON for shop.js. */
function refuse(int $status, string $words): never
{
    http_response_code($status);
    if (str_contains($_SERVER['HTTP_ACCEPT'] ?? '', 'text/html')) {
        page(t('秒杀小店'), null, '<p role="status">' . h($words) . '</p><p><a href="/">' . t('回到首页') . '</a></p>');
    }
    answer(['code' => (string) $status, 'say' => $words]);
}

function answer(array $told): never
{
    header('Content-Type: application/json');
    header('Cache-Control: no-store');
    exit(json_encode($told, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR));
}

function go(string $to): never
{
    header("Location: $to", true, 303);
    exit;
}

function h(mixed $text): string
{
    return htmlspecialchars((string) $text, ENT_QUOTES);
}

function yuan(int $fen): string
{
    return '¥' . number_format($fen / 100, 2);
}

/** Hidden fields of a form. */
function fields(array $values): string
{
    $html = '';
    foreach ($values as $name => $value) {
        $html .= '<input type="hidden" name="' . h($name) . '" value="' . h($value) . '">';
    }
    return $html;
}

/** Sends a complete page. All calls that can fail were made before, for $main. */
function page(string $title, ?array $account, string $main): never
{
    frame($title, navigation($account) . "<main>$main</main>");
}

function navigation(?array $account): string
{
    [$other, $name] = lang() === 'en' ? ['zh', '中文'] : ['en', 'English'];
    $item = preg_match('/^[a-z]+$/D', word('item')) === 1 ? '&item=' . word('item') : '';
    $switch = $_SERVER['REQUEST_METHOD'] === 'GET' ? "<a href=\"?lang=$other$item\">$name</a>" : '';
    $who = '<a href="/login.php">' . t('登录 / 注册') . '</a>';
    if ($account !== null) {
        $who = ($account['operator'] ? '<a href="/operator.php">' . t('运营') . '</a>' : '')
            . '<form method="post" action="/login.php">' . h($account['name']) . ' ' . fields(['csrf' => csrf()])
            . '<button name="leave" value="1">' . t('退出') . '</button></form>';
    }
    return '<nav><a href="/">' . t('秒杀') . '</a><a href="/orders.php">' . t('我的订单') . "</a>$switch$who</nav>";
}

function frame(string $title, string $body): never
{
    header('Cache-Control: no-store');
    if (isset($_GET['lang'])) {
        setcookie('lang', lang(), ['expires' => time() + 365 * 86400, 'path' => '/', 'samesite' => 'Lax']);
    }
    exit('<!doctype html><html lang="' . (lang() === 'en' ? 'en' : 'zh-CN') . '"><meta charset="utf-8"><title>' . h($title)
        . '</title><meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/shop.css">'
        . "<script src=\"/shop.js\" defer></script>$body");
}
