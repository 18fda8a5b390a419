<?php

// For those who run the sale: open, pause, add units, and see the stock live.

require __DIR__ . '/../lib/shop.php';

$account = account() ?? go('/login.php');
$account['operator'] || refuse(403, '只有运营人员可以进入');
if (isset($_GET['live'])) {
    answer(array_map(status(...), array_combine(array_keys(GOODS), array_keys(GOODS))));
}
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    account_that_posts();
    answer(['say' => run(item(), word('work'))]);
}
page('运营', $account, function (string $csrf) {
    echo '<h1>运营</h1><table id="live"><tr><th>商品</th><th>状态</th><th>总数</th><th>剩余</th><th>待付款</th>',
        '<th>已售</th><th>请求</th><th>已抢光</th><th>收回</th></tr>';
    foreach (GOODS as $item => $goods) {
        echo '<tr data-item="', $item, '"><td>', h($goods['name']), '</td>', str_repeat('<td></td>', 8), '</tr>';
    }
    echo '</table><form id="work"><input type="hidden" name="csrf" value="', $csrf, '"><p><select name="item">';
    foreach (GOODS as $item => $goods) {
        echo '<option value="', $item, '">', h($goods['name']), '</option>';
    }
    // The number of this restock: pressed twice it is one restock.
    echo '</select> <label>数量 <input name="units" value="100"></label>',
        ' <label>几秒后开始 <input name="opens" value="10"></label>',
        ' <label>付款时限（秒） <input name="hold" value="900"></label>',
        ' <label>放行 ‰ <input name="sample" value="1000"></label></p>',
        '<input type="hidden" name="restock" value="', new_order(), '">',
        '<p><button name="work" value="open">发布活动</button> <button name="work" value="restock">补货</button>',
        ' <button name="work" value="pause">暂停</button> <button name="work" value="resume">恢复</button></p>',
        '<p id="done" role="status"></p></form>';
});

function run(string $item, string $work): string
{
    $redis = redis_as('operator');
    $units = word('units');
    $words = match ($work) {
        'open' => ['INIT', $units, 'HOLD', (int) word('hold') * 1000, 'OPENAT', opening((int) word('opens')),
            'OUTBOX', 'sale:orders', 'SAMPLE', word('sample')],
        'restock' => ['RESTOCK', $units, 'REQ', word('restock')],
        'pause', 'resume' => [strtoupper($work)],
        default => refuse(400, '没有这个操作'),
    };
    $command = 'SECKILL.' . array_shift($words);
    // phpredis tells some errors by an exception and others by false: see docs/clients.md.
    $redis->clearLastError();
    try {
        $redis->rawCommand($command, "sale:$item", ...$words);
        $error = $redis->getLastError();
    } catch (RedisException $exception) {
        $error = $exception->getMessage();
    }
    return $error === null ? '完成' : "没有执行：$error";
}

function opening(int $seconds): int
{
    return $seconds > 0 ? (int) (microtime(true) * 1000) + $seconds * 1000 : 0;
}
