<?php
// 003, corrected: demo3 closes its file once, demo2 compares with >= 0, demo4 to demo6 have another key for the lock
// than for the stock, and sold out is 200 with a message. The release of the lock is unchanged: demo5 deletes it
// twice, and demo6 deletes it in try without checking the owner. demo7 and demo8 need an event loop
// (reactphp-redlock) instead of php-fpm; rows L09 to L11 are theirs.
class Shop
{
    private $goodsKey = 'goods';
    private $lockKey = 'lock:goods';

    private function business($redisClient, $response)
    {
        if ($redisClient->get($this->goodsKey) > 0) {
            $redisClient->decr($this->goodsKey);
            return $response->json(['msg' => '秒杀成功']);
        }
        return $response->json(['msg' => '库存不足,秒杀失败。']);
    }

    public function demo3(ResponseInterface $response)
    {
        $fp = fopen(getenv('LAB_FOLDER') . "/lock.txt", "r+");
        try {
            flock($fp, LOCK_EX);
            return $this->business(ApplicationContext::getContainer()->get(Redis::class), $response);
        } finally {
            fclose($fp);
        }
    }

    public function demo2(ResponseInterface $response)
    {
        $redisClient = ApplicationContext::getContainer()->get(Redis::class);
        $won = $redisClient->decr($this->goodsKey) >= 0;
        return $response->json(['msg' => $won ? '秒杀成功' : '秒杀失败,商品库存不足。']);
    }

    public function demo4(ResponseInterface $response)
    {
        $redisClient = ApplicationContext::getContainer()->get(Redis::class);
        if ($redisClient->setnx($this->lockKey, 1)) {
            $redisClient->expire($this->lockKey, 10);
            $told = $this->business($redisClient, $response);
            $redisClient->del($this->lockKey);
            return $told;
        }
        return $response->json(['msg' => '系统异常,请重试。']);
    }

    public function demo5(ResponseInterface $response)
    {
        $redisClient = ApplicationContext::getContainer()->get(Redis::class);
        if ($redisClient->set($this->lockKey, 1, ['nx', 'ex' => 10])) {
            try {
                $told = $this->business($redisClient, $response);
                $redisClient->del($this->lockKey);
                return $told;
            } finally {
                $redisClient->del($this->lockKey);
            }
        }
        return $response->json(['msg' => '系统异常,请重试。']);
    }

    public function demo6(ResponseInterface $response)
    {
        $redisClient = ApplicationContext::getContainer()->get(Redis::class);
        $client = md5((string)mt_rand(100000, 100000000000000000).uniqid());
        if ($redisClient->set($this->lockKey, $client, ['nx', 'ex' => 10])) {
            try {
                $told = $this->business($redisClient, $response);
                $redisClient->del($this->lockKey);
                return $told;
            } finally {
                if ($redisClient->get($this->lockKey) == $client) {
                    // 此处存在时间差
                    $redisClient->del($this->lockKey);
                }
            }
        }
        return $response->json(['msg' => '请稍后重试']);
    }
}

$demo = 'demo' . ($_GET['demo'] ?? '2');
(new Shop())->$demo(new Response());
