<?php
// Runs before each page: puts the buyer's answer into a header, so that nginx can log it, and replaces the
// framework of 003's methods. So the pages stay unchanged.
ob_start(function ($body) {
    $won = preg_match('/抢购成功|抢红包成功|秒杀成功/u', $body);
    header('X-Told: ' . ($won ? 'won' : 'lost'));
    return $body;
});

interface ResponseInterface {}

class Response implements ResponseInterface
{
    public function json($data) { echo json_encode($data, JSON_UNESCAPED_UNICODE); return $this; }
    public function withStatus($code) { http_response_code($code); return $this; }
}

class ApplicationContext
{
    public static function getContainer() { return new self(); }
    public function get($name)
    {
        $redis = new Redis();
        $redis->connect('127.0.0.1', (int) getenv('REDIS_PORT'));
        return $redis;
    }
}
