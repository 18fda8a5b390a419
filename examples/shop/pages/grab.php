<?php

// The button. One call decides; the database is not asked. Refusals are answers, with status 200.

require __DIR__ . '/../lib/web.php';
require __DIR__ . '/../lib/sale.php';

use Seckill\{Answer, Unanswered};

$item = item();
$account = account_that_posts();
$order = word('order');
preg_match('/^[0-9a-f]{32}$/D', $order) === 1 || refuse(400, t('订单号不对，请刷新页面'));

try {
    $answer = unless_no_sale(fn () => sale($item)->grab((string) $account['id'], $order))
        ?? answer(['code' => 'NOSALE', 'say' => t('还没开始：活动尚未发布')]);
} catch (Unanswered) {
    // Nobody knows. The page keeps the order's number, so another click finds out and takes nothing twice.
    refuse(503, t('活动火爆，请再点一次，不会重复下单'));
}
answer([
    'code' => $answer->outcome,
    'say' => words($answer),
    'won' => $answer->won(),
    'pay' => $answer->state === 'HELD',
    'seq' => $answer->seq,
    // An order that ended without a unit stays ended. Who tries again needs a new one.
    'order' => $answer->state === null || $answer->won() ? $order : new_order(),
]);

function words(Answer $answer): string
{
    if ($answer->state !== null) {
        return match ($answer->state) {
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
        default => t('本次活动每人限购一件'),
    };
}
