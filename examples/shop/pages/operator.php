<?php

// For those who run the sale: open, pause, add units, and see the stock live.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';
require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/operator.php';

$account = operator();
if (isset($_GET['live'])) {
    $live = array_map(status(...), array_combine(array_keys(GOODS), array_keys(GOODS)));
    answer(array_map(fn ($status) => $status === null ? [t('未发布')] : live($status), $live));
}
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    account_that_posts();
    // An answer is the end of a restock: the next one needs a number of its own.
    answer(['say' => run(item(), word('work')), 'restock' => new_order()]);
}
[$rows, $options] = ['', ''];
foreach (GOODS as $item => $goods) {
    $rows .= "<tr data-item=\"$item\"><td>" . t($goods['name']) . '</td>' . str_repeat('<td></td>', 8) . '</tr>';
    $options .= "<option value=\"$item\">" . t($goods['name']) . '</option>';
}
$heads = array_map(t(...), ['商品', '状态', '总数', '剩余', '待付款', '已售', '请求', '已抢光', '收回']);
$inputs = ['units' => ['数量', 100], 'opens' => ['几秒后开始', 10], 'hold' => ['付款时限（秒）', 900],
    'sample' => ['放行 ‰', 1000]];
$labels = array_map(fn ($name, $of) => '<label>' . t($of[0]) . " <input name=\"$name\" value=\"$of[1]\"></label> ",
    array_keys($inputs), $inputs);
$works = ['open' => '发布活动', 'restock' => '补货', 'pause' => '暂停', 'resume' => '恢复'];
$buttons = array_map(fn ($work, $name) => "<button name=\"work\" value=\"$work\">" . t($name) . '</button> ',
    array_keys($works), $works);
page(t('运营'), $account, '<h1>' . t('运营') . '</h1><div class="wide"><table id="live"><tr><th>' . implode('</th><th>', $heads)
    . "</th></tr>$rows</table></div><form id=\"work\">" . fields(['csrf' => csrf(), 'restock' => new_order()])
    . "<p><select name=\"item\">$options</select> " . implode($labels) . '</p><p>' . implode($buttons)
    . '</p><p id="done" role="status"></p></form><p><a href="/books.php">' . t('对账') . '</a></p>');

function live(array $status): array
{
    ['attempts' => $attempts, 'soldout' => $soldout, 'expired' => $expired] = $status['counters'];
    return [t(SALE_STATES[$status['state']]), $status['supply'], $status['available'], $status['held'], $status['sold'],
        $attempts, $soldout, $expired];
}

function run(string $item, string $work): string
{
    $words = match ($work) {
        // A hold of 0 would be a sale without payment.
        'open' => ['INIT', number('units', 1, 1_000_000_000), 'HOLD', 1000 * number('hold', 1, 86400), 'OPENAT',
            opening(number('opens', 0, 31_536_000)), 'OUTBOX', 'sale:orders', 'SAMPLE', number('sample', 0, 1000)],
        'restock' => ['RESTOCK', number('units', -1_000_000_000, 1_000_000_000), 'REQ', word('restock')],
        'pause', 'resume' => [strtoupper($work)],
        default => refuse(400, t('没有这个操作')),
    };
    $command = 'SECKILL.' . array_shift($words);
    // phpredis tells some errors by an exception and others by false: see docs/clients.md.
    $redis = redis();
    try {
        $told = $redis->rawCommand($command, "sale:$item", ...$words);
        $error = $redis->getLastError();
    } catch (RedisException $exception) {
        $error = $exception->getMessage();
        // Without a word of the server nobody knows: pressed again it is the same restock.
        preg_match('/^[A-Z]+ /', $error) === 1 || throw $exception;
    }
    return match (true) {
        $error !== null => t('没有执行：%s', $error),
        $work === 'restock' => t('完成：补货 %d 件，现在剩余 %d 件', ...$told),
        default => t('完成'),
    };
}

function opening(int $seconds): int
{
    return $seconds > 0 ? (int) (microtime(true) * 1000) + $seconds * 1000 : 0;
}
