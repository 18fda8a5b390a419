<?php

// The button, with the chosen seats if there are any. One call to Redis decides, without the database. Refusals are
// normal answers with status 200.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';
require __DIR__ . '/../lib/hall.php';

use Seckill\{Answer, SaleError, Unanswered};

$item = item();
$account = account_that_posts();
$order = word('order');
preg_match('/^[0-9a-f]{32}$/D', $order) === 1 || refuse(400, t('订单号不对，请刷新页面'));

$wanted = wanted($item);
try {
    $answer = unless_no_sale(fn () => sale($item)->grab((string) $account['id'], $order, ...$wanted))
        ?? answer(['code' => 'NOSALE', 'say' => t('还没开始：活动尚未发布')]);
} catch (Unanswered) {
    // The outcome is unknown. The page keeps the order's number, so another click gets the outcome and never
    // takes units twice.
    refuse(503, t('活动火爆，请再点一次，不会重复下单'));
} catch (SaleError $error) {
    // The sale may have fewer seats than the hall. An order without an answer may have won other seats.
    match ($error->errorCode) {
        'ERR' => refuse(400, t('没有这个座位')),
        'REQMISMATCH' => answer(['code' => 'REQMISMATCH', 'say' => t('上一次点击已经成功，请看我的订单。'), 'order' => new_order()]),
        default => throw $error,
    };
}
$limit = GOODS[$item]['limit'] ?? 1;
$more = $answer->won() && $limit > 1;
answer([
    'code' => $answer->outcome,
    'say' => words($answer, $item),
    'units' => $answer->units ?? [],
    'taken' => $answer->unit,
    // The order to pay, if any: the user's other order if that one holds the units.
    'held' => $answer->outcome === 'ALREADY' ? '' : $order,
    'won' => $answer->won(),
    'pay' => $answer->state === 'HELD',
    'seq' => $answer->seq,
    // An order without a unit stays ended. Another try, or further units, need a new order.
    'order' => $more || ($answer->state !== null && !$answer->won()) ? new_order() : $order,
]);

/** Options of GRAB for a hall: these seats, or a number of adjacent ones. */
function wanted(string $item): array
{
    ['seats' => $seats, 'limit' => $limit] = GOODS[$item] + ['seats' => 0, 'limit' => 1];
    if ($seats === 0) {
        return [];
    }
    if (word('together') !== '') {
        return ['qty' => number('together', 1, $limit), 'adjacent' => true];
    }
    $units = preg_match('/^\d{1,9}( \d{1,9})*$/D', word('units')) === 1 ? array_map(intval(...), explode(' ', word('units'))) : [0];
    $known = array_filter($units, fn (int $unit) => $unit >= 1 && $unit <= $seats);
    count($units) <= $limit && $units === array_unique($known) || refuse(400, t('请选 1 到 %d 个座位', $limit));
    return ['units' => $units];
}

function words(Answer $answer, string $item): string
{
    $limit = GOODS[$item]['limit'] ?? 1;
    if ($answer->state !== null) {
        $seats = isset(GOODS[$item]['row']) && $answer->units !== null ? places($item, $answer->units) . ' · ' : '';
        if ($seats !== '' && $answer->outcome === 'ALREADY') {
            return $seats . t('每人最多 %d 个座位', $limit);
        }
        return $seats . match ($answer->state) {
            'HELD' => t('恭喜，抢到了！请在 %s 前付款。', date('H:i:s', intdiv($answer->deadlineMs, 1000))),
            'SOLD' => t('恭喜，您已抢到并付款。'),
            default => t('上一单已超时或取消，再点一次重新抢购。'),
        };
    }
    return match ($answer->outcome) {
        'SOLDOUT' => $answer->held > 0 ? t('已抢光，还有 %d 件待付款，稍后可能放出。', $answer->held) : t('已抢光'),
        'NOTOPEN' => t('还没开始，还差 %d 秒。', (int) ceil($answer->opensInMs / 1000)),
        'CLOSED' => t('活动已结束'),
        'BUSY', 'PAUSED' => t('活动火爆，请稍后再试'),
        'DENIED' => t('您不符合本次活动的条件'),
        'TAKEN' => t('%s刚被别人选走，请换一个。', places($item, [$answer->unit])),
        'SHORT' => t('没有这么多连座了，最多 %d 个。', $answer->available),
        'OVERLIMIT' => $limit === 1 ? t('本次活动每人限购一件') : t('每人最多 %d 个座位', $limit),
        default => t('本次活动每人限购一件'),
    };
}
