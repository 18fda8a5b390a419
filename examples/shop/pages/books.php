<?php

// Compares payments, orders and the bank's trades of each order, side by side.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';
require __DIR__ . '/../lib/hall.php';
require __DIR__ . '/../lib/database.php';
require __DIR__ . '/../lib/messages.php';
require __DIR__ . '/../lib/operator.php';

$account = operator();
$database = database();
$sales = query($database, 'SELECT id, name FROM sales')->fetchAll(PDO::FETCH_KEY_PAIR)
    + query($database, 'SELECT DISTINCT sale, CONCAT("sale:", item) FROM payments')->fetchAll(PDO::FETCH_KEY_PAIR);
$sale = isset($sales[word('sale')]) ? word('sale') : status(item())['id'] ?? '';
$books = books($database, $sale);
$wrong = array_filter($books, fn ($row) => verdict($row) === 'wrong');
$open = array_filter($books, fn ($row) => verdict($row) === 'open');

// All wrong or pending rows, and the newest of the others.
$item = substr($sales[$sale] ?? '', strlen('sale:'));
$shown = $wrong + $open + array_slice($books, 0, 100, true);
$rows = '';
foreach ($shown as $row) {
    $money = $row['bank_fen'] === null ? '' : yuan($row['bank_fen']);
    $units = isset(GOODS[$item]) ? places($item, json_decode($row['units'] ?? '[]')) : '';
    $cells = [$row['account'], $row['req'], $units, $row['ordered'] ?? '—', $row['payment'] ?? '—', $row['bank'] ?? '—', $money];
    $rows .= '<tr class="' . verdict($row) . '"><td>' . implode('</td><td>', array_map(h(...), $cells)) . '</td></tr>';
}
$options = '';
foreach ($sales as $id => $name) {
    $options .= "<option value=\"$id\"" . ($id === $sale ? ' selected' : '') . '>' . h("$name $id") . '</option>';
}
$heads = array_map(t(...), ['账号', '订单号', '座位或号码', '订单', '付款', '银行', '金额']);
page(t('对账'), $account, '<h1>' . t('对账') . "</h1><form><select name=\"sale\">$options</select> <button>" . t('查看')
    . '</button></form><p id="sum">' . t('%d 笔，%d 笔不一致，%d 笔处理中', count($books), count($wrong), count($open))
    . '</p><div class="wide"><table id="books"><tr><th>' . implode('</th><th>', $heads) . "</th></tr>$rows</table></div>");

/** One row for each order or payment of a sale, newest first, and one for each unknown trade of the bank. */
function books(PDO $database, string $sale): array
{
    // MariaDB has no FULL JOIN.
    $orders = 'SELECT o.user_id AS account, o.req, o.units, o.state AS ordered, p.id, p.state AS payment, p.fen
        FROM orders AS o LEFT JOIN payments AS p ON p.sale = o.id AND p.account = o.user_id AND p.req = o.req
        WHERE o.id = ? AND NOT o.lost ORDER BY o.at DESC';
    $unordered = 'SELECT p.account, p.req, NULL AS units, NULL AS ordered, p.id, p.state AS payment, p.fen
        FROM payments AS p LEFT JOIN orders AS o
        ON p.sale = o.id AND p.account = o.user_id AND p.req = o.req AND NOT o.lost
        WHERE p.sale = ? AND o.id IS NULL ORDER BY p.id DESC';
    $rows = [...query($database, $orders, [$sale])->fetchAll(), ...query($database, $unordered, [$sale])->fetchAll()];
    $bank = bank_trades();
    foreach ($rows as &$row) {
        $trade = $bank[$row['id'] ?? 0] ?? null;
        $row += ['bank' => $trade['state'] ?? null, 'bank_fen' => $trade['fen'] ?? null];
    }
    $known = query($database, 'SELECT id, id FROM payments')->fetchAll(PDO::FETCH_KEY_PAIR);
    foreach (array_diff_key($bank, $known) as $trade) {
        $rows[] = ['account' => '', 'req' => '', 'units' => null, 'ordered' => null, 'id' => $trade['payment'], 'payment' => null,
            'fen' => null, 'bank' => $trade['state'], 'bank_fen' => $trade['fen']];
    }
    return $rows;
}

/** All trades of the bank. (With years of payments compare one day at a time.) */
function bank_trades(): array
{
    [$all, $from] = [[], 0];
    do {
        $page = trades('ask', $from, PHP_INT_MAX) ?? throw new RuntimeException('the bank did not answer');
        $all += $page;
        $from = (array_key_last($page) ?? 0) + 1;
    } while ($page !== []);
    return $all;
}

/** Empty if all three agree, `open` while a payment is pending. */
function verdict(array $row): string
{
    [$order, $payment, $bank] = [$row['ordered'], $row['payment'], $row['bank']];
    $sold = $order === 'SOLD';
    return match (true) {
        $bank !== null && $row['bank_fen'] !== $row['fen'] => 'wrong',
        $bank === null => !$sold && in_array($payment, [null, 'BEGUN', 'LAPSED'], true) ? '' : 'wrong',
        // A worker or the order writer will change it soon.
        in_array($payment, ['BEGUN', 'LAPSED', 'REFUND'], true), [$order, $payment] === ['HELD', 'PAID'] => 'open',
        $bank === 'REFUNDED' => !$sold && $payment === 'REFUNDED' ? '' : 'wrong',
        default => $sold && $payment === 'PAID' ? '' : 'wrong',
    };
}
