<?php
// 004, the lock that is released before the commit (错误释放分布式锁). The post has only these steps, no code.
$redis = new Redis();
$redis->connect('127.0.0.1', (int) getenv('REDIS_PORT'));
$mysqli = new mysqli('127.0.0.1', 'root', '', 'shop');
// dis-lock goods type
while (!$redis->set('lock:goods', 1, ['nx', 'ex' => 10])) {
    usleep(2000);
}
$mysqli->begin_transaction();
$count = $mysqli->query('SELECT number FROM seckill WHERE seckill_id=1')->fetch_row()[0];
if ($count > 0) {
    $mysqli->query('UPDATE seckill SET number=number-1 WHERE seckill_id=1');
    $mysqli->query('INSERT INTO orders(goods_id) VALUES(1)');
}
// dis-un-lock goods type 错误释放分布式锁
$redis->del('lock:goods');
$mysqli->commit();
echo $count > 0 ? '秒杀成功' : '秒杀失败';
