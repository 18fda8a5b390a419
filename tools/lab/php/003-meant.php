<?php
// 003 as meant: demo3 closes its file once, demo2 compares with >= 0, demo5 has a lock of its own
// beside the stock, and sold out is 200 with a message.
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

    public function demo5(ResponseInterface $response)
    {
        $redisClient = ApplicationContext::getContainer()->get(Redis::class);
        if ($redisClient->set($this->lockKey, 1, ['nx', 'ex' => 10])) {
            try {
                return $this->business($redisClient, $response);
            } finally {
                $redisClient->del($this->lockKey);
            }
        }
        return $response->json(['msg' => '系统异常,请重试。']);
    }
}

$demo = 'demo' . ($_GET['demo'] ?? '2');
(new Shop())->$demo(new Response());
