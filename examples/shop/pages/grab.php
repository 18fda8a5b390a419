<?php

// The button. One call decides; the database is not asked. Refusals are answers, with status 200.

require __DIR__ . '/../lib/shop.php';

use Seckill\{Answer, SaleError, Unanswered};

$item = item();
$account = account_that_posts();
$order = word('order');
preg_match('/^[0-9a-f]{32}$/D', $order) === 1 || refuse(400, '订单号不对，请刷新页面');

try {
    $answer = sale($item)->grab((string) $account['id'], $order);
} catch (Unanswered) {
    // Nobody knows. The page keeps the order's number, so another click finds out and takes nothing twice.
    refuse(503, '活动火爆，请再点一次，不会重复下单');
} catch (SaleError $error) {
    $error->errorCode === 'NOSALE' || throw $error;
    answer(['code' => 'NOSALE', 'say' => '还没开始：活动尚未发布']);
}
answer([
    'code' => $answer->outcome,
    'say' => words($answer),
    'pay' => $answer->state === 'HELD',
    'seq' => $answer->seq,
    'opensIn' => $answer->opensIn,
    // An order that ended without a unit stays ended. Who tries again needs a new one.
    'order' => $answer->state === null || $answer->won() ? $order : new_order(),
]);

function words(Answer $answer): string
{
    if ($answer->state !== null) {
        return match ($answer->state) {
            'HELD' => '恭喜，抢到了！请在 ' . date('H:i:s', intdiv($answer->deadline, 1000)) . ' 前付款。',
            'SOLD' => '恭喜，您已抢到并付款。',
            default => '上一单已超时或取消，再点一次重新抢购。',
        };
    }
    return match ($answer->outcome) {
        'SOLDOUT' => $answer->held > 0 ? "已抢光，还有 $answer->held 件待付款，稍后可能放出。" : '已抢光',
        'NOTOPEN' => '还没开始，还差 ' . ceil($answer->opensIn / 1000) . ' 秒。',
        'CLOSED' => '活动已结束',
        'BUSY', 'PAUSED' => '活动火爆，请稍后再试',
        'DENIED' => '您不符合本次活动的条件',
        default => '本次活动每人限购一件',
    };
}
