<?php
// 003, its methods, unchanged; ?demo=1 selects one. prepend.php replaces the framework. The TODO lines are the
// post's own words: nothing is left to do here.
class Shop
{
    private $goodsKey = 'goods';

    public function demo1(ResponseInterface $response)
    {
        $application = ApplicationContext::getContainer();
        $redisClient = $application->get(Redis::class);
        /** @var int $goodsStock 商品当前库存*/
        $goodsStock = $redisClient->get($this->goodsKey);

        if ($goodsStock > 0) {
            $redisClient->decr($this->goodsKey);
            // TODO 执行额外业务逻辑
            return $response->json(['msg' => '秒杀成功'])->withStatus(200);
        }
        return $response->json(['msg' => '秒杀失败,商品库存不足。'])->withStatus(500);
    }

    public function demo3(ResponseInterface $response)
    {
     $fp = fopen(getenv('LAB_FOLDER') . "/lock.txt", "r+");

     try {
         if (flock($fp, LOCK_EX)) {  // 进行排它型锁定
             $application = ApplicationContext::getContainer();
             $redisClient = $application->get(Redis::class);
             /** @var int $goodsStock 商品当前库存*/
             $goodsStock = $redisClient->get($this->goodsKey);
             if ($goodsStock > 0) {
                 $redisClient->decr($this->goodsKey);
                 // TODO 处理额外的业务逻辑
                 $result = true; // 业务逻辑处理最终结果
                 flock($fp, LOCK_UN);    // 释放锁定
                 fclose($fp);
                 if ($result) {
                     return $response->json(['msg' => '秒杀成功'])->withStatus(200);
                 }
                 return $response->json(['msg' => '秒杀失败'])->withStatus(200);
             } else {
                 flock($fp, LOCK_UN);    // 释放锁定
                 fclose($fp);
                 return $response->json(['msg' => '库存不足,秒杀失败。'])->withStatus(500);
             }
         } else {
             fclose($fp);
             return $response->json(['msg' => '活动过于火爆,抢购的人过多,请稍后重试。'])->withStatus(500);
         }
     } catch (\Exception $exception) {
         fclose($fp);
         return $response->json(['msg' => '系统异常'])->withStatus(500);
     } finally {
         fclose($fp);
     }
    }

    public function demo2(ResponseInterface $response)
    {
        $application = ApplicationContext::getContainer();
        $redisClient = $application->get(Redis::class);
        /** @var int $goodsStock Redis减少1后的库存数据 */
        $goodsStock = $redisClient->decr($this->goodsKey);
        if ($goodsStock > 0) {
            // TODO 执行额外业务逻辑
            $result = true;// 业务处理的结果
            if ($result) {
                return $response->json(['msg' => '秒杀成功'])->withStatus(200);
            } else {
                $redisClient->incr($this->goodsKey);// 将减少的库存进行增加1
                return $response->json(['msg' => '秒杀失败'])->withStatus(500);
            }
        }
        return $response->json(['msg' => '秒杀失败,商品库存不足。'])->withStatus(500);
    }

    public function demo4(ResponseInterface $response)
    {
        $application = ApplicationContext::getContainer();
        $redisClient = $application->get(Redis::class);

        if ($redisClient->setnx($this->goodsKey, 1)) {
            // 假设该执行下面的操作时服务器宕机
            $redisClient->expire($this->goodsKey, 10);
            // TODO 处理业务逻辑
            $result = true;// 处理业务逻辑的结果
            // 删除锁
            $redisClient->del($this->goodsKey);
            if ($result) {
                return $response->json(['msg' => '秒杀成功。'])->withStatus(200);
            }
            return $response->json(['msg' => '秒杀失败。'])->withStatus(500);
        }
        return $response->json(['msg' => '系统异常,请重试。'])->withStatus(500);
    }

    public function demo5(ResponseInterface $response)
    {
        $application = ApplicationContext::getContainer();
        $redisClient = $application->get(Redis::class);

        if ($redisClient->set($this->goodsKey, 1, ['nx', 'ex' => 10])) {
            try {
                // TODO 处理秒杀业务
                $result = true;// 处理业务逻辑的结果
                $redisClient->del($this->goodsKey);
                if ($result) {
                    return $response->json(['msg' => '秒杀成功。'])->withStatus(200);
                } else {
                    return $response->json(['msg' => '秒杀失败。'])->withStatus(200);
                }
            } catch (\Exception $exception) {
                $redisClient->del($this->goodsKey);
            } finally {
                $redisClient->del($this->goodsKey);
            }
        }
        return $response->json(['msg' => '系统异常,请重试。'])->withStatus(500);
    }

    public function demo6(ResponseInterface $response)
    {
        $application = ApplicationContext::getContainer();
        $redisClient = $application->get(Redis::class);
        /** @var string $client 当前请求的唯一标识*/
        $client = md5((string)mt_rand(100000, 100000000000000000).uniqid());
        if ($redisClient->set($this->goodsKey, $client, ['nx', 'ex' => 10])) {
            try {
                // TODO 处理秒杀业务逻辑
                $result = true;// 处理业务逻辑的结果
                $redisClient->del($this->goodsKey);
                if ($result) {
                    return $response->json(['msg' => '秒杀成功'])->withStatus(200);
                }
                return $response->json(['msg' => '秒杀失败'])->withStatus(500);
            } catch (\Exception $exception) {
                if ($redisClient->get($this->goodsKey) == $client) {
                    // 此处存在时间差
                    $redisClient->del($this->goodsKey);
                }
            } finally {
                if ($redisClient->get($this->goodsKey) == $client) {
                    // 此处存在时间差
                    $redisClient->del($this->goodsKey);
                }
            }
        }
        return $response->json(['msg' => '请稍后重试'])->withStatus(500);
    }
}

$demo = 'demo' . ($_GET['demo'] ?? '1');
(new Shop())->$demo(new Response());
