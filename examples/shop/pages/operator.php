<?php

// For operators: open, pause, add units and codes, and watch the stock and the seats.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';
require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/hall.php';
require __DIR__ . '/../lib/operator.php';

/** No sale has more numbers, and none more units: see docs/units.md and docs/commands.md. */
const MOST_NUMBERS = 10_000_000;
const MOST_UNITS = 2 ** 53 - 1;

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
    $database = $codes ? database_for_codes() : null;
    // The number of seats is fixed. Of codes at most those that no number needs; what adds no numbers needs none.
    $most = match (true) {
        $seats > 0 => $seats,
        $codes => adds_numbers($item, $work) ? max(0, min(MOST_NUMBERS, hand_out_codes($database))) : MOST_NUMBERS,
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
    [$told, $error] = tell($item, ...$words);
    // Also if INIT found the sale: this may be the first time after it was made that anybody comes this far.
    $left = $codes ? hand_out_codes($database) : 0;
    return match (true) {
        $error !== null => t('没有执行：%s', $error),
        $left < 0 => t('完成，但有 %d 个号码没有码，请入库', -$left),
        $work === 'restock' => t('完成：补货 %d 件，现在剩余 %d 件', ...$told),
        default => t('完成'),
    };
}

/** Sends a command. Returns its reply and the error, one of them null. */
function tell(string $item, string $command, string|int ...$words): array
{
    // phpredis reports some errors by an exception and others by false: see docs/clients.md.
    $redis = redis();
    try {
        $told = $redis->rawCommand("SECKILL.$command", "sale:$item", ...$words);
        return [$told, $redis->getLastError()];
    } catch (RedisException $exception) {
        $error = $exception->getMessage();
        // Without a reply the outcome is unknown; another click repeats this restock.
        return preg_match('/^[A-Z]+ /', $error) === 1 ? [null, $error] : throw $exception;
    }
}

function opening(int $seconds): int
{
    return $seconds > 0 ? (int) (microtime(true) * 1000) + $seconds * 1000 : 0;
}

/** Inserts codes, without duplicates. Returns the number of new codes and of those to sell. */
function take_codes(): array
{
    $database = database_for_codes();
    $codes = preg_split('/\s+/', word('codes'), -1, PREG_SPLIT_NO_EMPTY);
    array_filter($codes, fn ($code) => preg_match('/^[!-~]{1,64}$/D', $code) !== 1) === [] || refuse(400, t('码只能是 1 到 64 个字母、数字和符号'));
    $came = 0;
    foreach ($codes as $code) {
        $came += query($database, 'INSERT IGNORE INTO codes (item, code) VALUES ("code", ?)', [$code])->rowCount();
    }
    return [$came, max(0, hand_out_codes($database))];
}

/**
 * A connection that works on codes alone, until its end: two operators at once would both count on the same codes.
 */
function database_for_codes(): PDO
{
    $database = database();
    return query($database, 'SELECT GET_LOCK("shop.codes", 1)')->fetchColumn() === 1 ? $database
        : refuse(503, t('另一位运营正在操作，请再点一次'));
}

/** Whether numbers may come of this. INIT never changes a sale, and a repeated restock adds nothing. */
function adds_numbers(string $item, string $work): bool
{
    return match ($work) {
        'open' => status($item) === null,
        // No sale takes so many, so this adds nothing. It is REQMISMATCH if the sale had this REQ, for fewer.
        'restock' => !str_starts_with(tell($item, 'RESTOCK', MOST_UNITS, 'REQ', word('restock'))[1] ?? '', 'REQMISMATCH'),
        default => false,
    };
}

/**
 * Assigns a code to each number of the sale without one, from the point where a call before this one was stopped.
 * Returns how many codes are left to sell, or below 0 how many numbers have none. It uses the sale's id, because after
 * DEL and a new INIT numbers begin at 1 again, but a code must not be assigned twice.
 */
function hand_out_codes(PDO $database): int
{
    ['id' => $sale, 'supply' => $supply] = status('code') ?? ['id' => '', 'supply' => 0];
    $count = 'SELECT (SELECT COUNT(*) FROM codes WHERE sale = ?), COUNT(*) FROM codes WHERE item = "code" AND sale IS NULL';
    [$have, $free] = query($database, $count, [$sale])->fetch(PDO::FETCH_NUM);
    while ($have < $supply && $free > 0) {
        // Each statement is done or not done at all, and much faster than the database is given up.
        $now = min($supply - $have, $free, 1000);
        query($database, "UPDATE codes JOIN (SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS next FROM codes
            WHERE item = 'code' AND sale IS NULL ORDER BY id LIMIT $now) AS free USING (id)
            SET sale = ?, unit = ? + next", [$sale, $have]);
        [$have, $free] = [$have + $now, $free - $now];
    }
    return $free - ($supply - $have);
}
