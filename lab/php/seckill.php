<?php
// The posts' shop with the module: one call; each answer has status 200 and a code.
$redis = new Redis();
$redis->connect('127.0.0.1', (int) getenv('REDIS_PORT'));
$user = $_SERVER['REQUEST_ID'];
$reply = $redis->rawCommand('SECKILL.GRAB', 'sale', $user, 'REQ', $user);
$yours = in_array($reply[0], ['GRANTED', 'REPLAY', 'ALREADY'], true) && in_array($reply[3], ['HELD', 'SOLD'], true);
echo json_encode(['code' => $reply[0], 'msg' => $yours ? '秒杀成功' : '已卖光'], JSON_UNESCAPED_UNICODE);
