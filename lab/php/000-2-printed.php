<?php
// 000, the second program, unchanged, in a page.
$redis = new redis();
$redis->connect('127.0.0.1', (int) getenv('REDIS_PORT'));
$award = $redis->lpop('award:100'); // 由于队列只有100个值，可以确保只有100个人中奖
if(!$award){
    echo "手气不好，再抢购！";exit;
}
// 剩下就是中奖操作的事情了
echo "抢购成功！";
