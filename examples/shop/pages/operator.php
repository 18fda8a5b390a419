<?php

// For operators: open, pause, add units and codes, and watch the stock and the seats.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';
require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/hall.php';
require __DIR__ . '/../lib/operator.php';

$account = operator();
if (isset($_GET['live'])) {
    $live = array_map(status(...), array_combine(array_keys(GOODS), array_keys(GOODS)));
    answer(array_map(fn ($status) => $status === null ? [t('未发布')] : live($status), $live));
}
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    account_that_posts();
    // An answer ends a restock; the next one needs a new number.
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
    . '</p><p><textarea name="codes" rows="3" placeholder="' . t('视频会员月卡的码，一行一个') . '"></textarea><button name="work" value="codes">'
    . t('入库') . '</button></p><p id="done" role="status"></p></form><p><a href="/books.php">' . t('对账') . '</a></p><h2>'
    . t(GOODS['hall']['name']) . '</h2>' . hall('hall', []));

function live(array $status): array
{
    ['attempts' => $attempts, 'soldout' => $soldout, 'expired' => $expired] = $status['counters'];
    return [t(SALE_STATES[$status['state']]), $status['supply'], $status['available'], $status['held'], $status['sold'],
        $attempts, $soldout, $expired];
}

function run(string $item, string $work): string
{
    ['limit' => $limit, 'seats' => $seats, 'codes' => $codes] = GOODS[$item] + ['limit' => 1, 'seats' => 0, 'codes' => false];
    if ($work === 'codes') {
        return t('入库 %d 个码，还有 %d 个可卖', ...take_codes());
    }
    // The number of seats is fixed; of codes at most those in the table.
    $most = match (true) {
        $seats > 0 => $seats,
        $codes => min(10_000_000, free_codes(database())),
        default => 1_000_000_000,
    };
    $numbered = $seats > 0 || $codes;
    $words = match ($work) {
        // A hold of 0 would sell without payment.
        'open' => ['INIT', number('units', 1, $most), 'HOLD', 1000 * number('hold', 1, 86400), 'OPENAT',
            opening(number('opens', 0, 31_536_000)), 'OUTBOX', 'sale:orders', 'SAMPLE', number('sample', 0, 1000),
            'LIMIT', $limit, ...($numbered ? ['NUMBERED'] : [])],
        'restock' => $seats > 0 ? refuse(400, t('没有这个操作'))
            : ['RESTOCK', number('units', $numbered ? 1 : -1_000_000_000, $most), 'REQ', word('restock')],
        'pause', 'resume' => [strtoupper($work)],
        default => refuse(400, t('没有这个操作')),
    };
    $command = 'SECKILL.' . array_shift($words);
    // phpredis reports some errors by an exception and others by false: see docs/clients.md.
    $redis = redis();
    try {
        $told = $redis->rawCommand($command, "sale:$item", ...$words);
        $error = $redis->getLastError();
    } catch (RedisException $exception) {
        $error = $exception->getMessage();
        // Without a reply the outcome is unknown; another click repeats this restock.
        preg_match('/^[A-Z]+ /', $error) === 1 || throw $exception;
    }
    // Also for a repeated restock whose codes were not assigned.
    $codes && $error === null && hand_out_codes(database(), status('code'));
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

/** Inserts codes, without duplicates. Returns the number of new codes and of unsold ones. */
function take_codes(): array
{
    $database = database();
    $codes = preg_split('/\s+/', word('codes'), -1, PREG_SPLIT_NO_EMPTY);
    array_filter($codes, fn ($code) => preg_match('/^[!-~]{1,64}$/D', $code) !== 1) === [] || refuse(400, t('码只能是 1 到 64 个字母、数字和符号'));
    $came = 0;
    foreach ($codes as $code) {
        $came += query($database, 'INSERT IGNORE INTO codes (item, code) VALUES ("code", ?)', [$code])->rowCount();
    }
    return [$came, free_codes($database)];
}

function free_codes(PDO $database): int
{
    return (int) query($database, 'SELECT COUNT(*) FROM codes WHERE item = "code" AND sale IS NULL')->fetchColumn();
}

/**
 * Assigns a code to each number of the sale without one. It uses the sale's id, because after DEL and a new INIT
 * numbers begin at 1 again, but a code must not be assigned twice.
 */
function hand_out_codes(PDO $database, array $status): void
{
    $have = (int) query($database, 'SELECT COUNT(*) FROM codes WHERE sale = ?', [$status['id']])->fetchColumn();
    $free = query($database, sprintf('SELECT id FROM codes WHERE item = "code" AND sale IS NULL ORDER BY id LIMIT %d',
        max(0, $status['supply'] - $have)))->fetchAll(PDO::FETCH_COLUMN);
    foreach ($free as $id) {
        // With two operators at once the unique number makes the second one fail and retry.
        query($database, 'UPDATE codes SET sale = ?, unit = ? WHERE id = ? AND sale IS NULL', [$status['id'], ++$have, $id]);
    }
}
