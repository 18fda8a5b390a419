<?php
// 001, its core code, unchanged. The function is needed for its `return`.
function grab() {
 $redis = new redis();

 $result = $redis->connect('127.0.0.1', (int) getenv('REDIS_PORT'));

 $total = $redis->get("totalkey");

 $can_num = 100;

 if ( $total <$can_num ){ 

  #监控发出去的红包总数  $redis->watch("totalkey");

  #事务的开始
  $redis->multi();

  #设置被监控的key，如果在multi和exec之间对watch的key进行修改，
  #那么exec将会返回nil
  $redis->set("totalkey",++$total);

  #提交事务。如果这时A和B都是限制范围内进来，A先监控了totalkey，然后提交。
  #那么B在这一步将会提交失败。因为总量已被修改
  $result = $redis->exec();
  if (!$result){
    return array('msg'=>'没有抢到红包哦，继续努力!','count'=>0);
  }else{
    $count = mt_rand(1,1000);#在0到1000之间随机金币，逻辑自行丰富
    return array('msg'=>'抢红包成功！','count'=>$count);
  }

}
}
echo json_encode(grab(), JSON_UNESCAPED_UNICODE);
