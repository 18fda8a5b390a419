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
     * One click. $work may run again for an order, so it must be repeatable; if it returns false the unit is returned.
     * @param callable(string): bool $work
     */
    public function buy(string $user, callable $work): string
    {
        $order = $this->orderOf($user);
        $answer = $this->sale->grab($user, $order);
        if ($answer->outcome === 'REPLAY' && !$answer->won()) {
            // This user's order was refunded, or its hold expired: the click is a new order.
            $this->redis->del("order:$this->key:$user");
            $order = $this->orderOf($user);
            $answer = $this->sale->grab($user, $order);
        }
        if ($answer->outcome === 'ALREADY') {
            return '您已经抢到过了';
        }
        if ($answer->state === 'HELD') {
            $answer = $work($order) ? $this->sale->confirm($user, $order) : $this->sale->cancel($user, $order);
        }
        return match (true) {
            $answer->state === 'SOLD' => '秒杀成功',
            $answer->outcome === 'PAUSED' => '活动暂停中。',
            default => '秒杀失败,商品库存不足。',
        };
    }

    /** The user's order number: equal for each click, on every web server. */
    private function orderOf(string $user): string
    {
        $this->redis->set("order:$this->key:$user", bin2hex(random_bytes(16)), ['nx', 'ex' => 7 * 86400]);
        return $this->redis->get("order:$this->key:$user");
    }
}
