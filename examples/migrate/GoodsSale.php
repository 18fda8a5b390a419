<?php

// For a controller of a framework (Hyperf, Laravel, ThinkPHP, webman), also with tokens (JWT) instead of sessions.
// It keeps a user's order number in Redis until the order has ended.

declare(strict_types=1);

final class GoodsSale
{
    /** @param Redis $redis a connection of this request: coroutines must not share one */
    public function __construct(
        private readonly Redis $redis, private readonly Seckill\Sale $sale, private readonly string $key,
    ) {
    }

    /**
     * One click. Both calls may be repeated for an order. If $work returns false the unit is returned; after an
     * exception, whose work may have been done, it stays held for the next click. $undo removes what $work has written
     * for an order that got no unit.
     * @param callable(string): bool $work
     * @param callable(string): void $undo
     */
    public function buy(string $user, callable $work, callable $undo): string
    {
        $status = $this->sale->status();
        $status['hold_ms'] > 0 || throw new LogicException("$this->key has no HOLD: a unit could not be given back");
        // A later sale under this key has another id: an order of this one is not sent to it.
        $place = "order:$this->key:{$status['id']}:$user";
        $order = $this->orderAt($place);
        $answer = $this->sale->grab($user, $order);
        if ($answer->outcome === 'REPLAY' && !$answer->won()) {
            // This user's order was refunded, or its hold expired: the click is a new order.
            $this->isUnsold($answer) && $undo($order);
            $this->redis->del($place);
            $order = $this->orderAt($place);
            $answer = $this->sale->grab($user, $order);
        }
        if ($answer->outcome === 'ALREADY') {
            return '您已经抢到过了';
        }
        $done = $answer->won() && $work($order);
        if ($answer->state === 'HELD') {
            $answer = $done ? $this->sale->confirm($user, $order) : $this->sale->cancel($user, $order);
        }
        $this->isUnsold($answer) && $undo($order);
        return match (true) {
            $answer->state === 'SOLD' => $done ? '秒杀成功' : '正在确认，请再点一次',
            $answer->outcome === 'PAUSED' => '活动暂停中。',
            default => '秒杀失败,商品库存不足。',
        };
    }

    /** Whether the hold has ended before CONFIRM: another user may have the unit. A refunded order was sold. */
    private function isUnsold(Seckill\Answer $answer): bool
    {
        return in_array($answer->state, ['EXPIRED', 'CANCELLED'], true);
    }

    /** The user's order number: equal for each click, on every web server. */
    private function orderAt(string $place): string
    {
        $this->redis->set($place, bin2hex(random_bytes(16)), ['nx', 'ex' => 7 * 86400]);
        return $this->redis->get($place);
    }
}
