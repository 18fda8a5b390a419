<?php

declare(strict_types=1);

namespace Seckill;

use Predis\Command\RawCommand;
use Predis\Connection\NodeConnectionInterface;
use Predis\Response\ErrorInterface;

/** @internal One server, also one that Predis found through Sentinel. */
final class PredisNode implements Connection
{
    /** @param ?\Closure(NodeConnectionInterface): mixed $forget removes a node that is no longer the primary */
    public function __construct(
        private readonly NodeConnectionInterface $node,
        private readonly string $prefix = '',
        private readonly ?\Closure $forget = null,
    ) {
    }

    public function send(string $key, array $commands, float $seconds): array
    {
        $end = microtime(true) + $seconds;
        $sent = array_map(fn (array $words) => RawCommand::create(...$words), $commands);
        foreach ($sent as $command) {
            $this->limit($end - microtime(true));
            $this->node->writeRequest($command);
        }
        $replies = [];
        foreach ($sent as $command) {
            $this->limit($end - microtime(true));
            $reply = $this->node->readResponse($command);
            $this->isWhole() || throw new \UnexpectedValueException('a reply that broke off');
            $replies[] = $reply instanceof ErrorInterface ? new ErrorReply($reply->getMessage()) : $reply;
        }
        // The read timeout of the client's options.
        $before = $this->node->getParameters()->read_write_timeout ?? (float) ini_get('default_socket_timeout');
        $this->limit($before > 0 ? (float) $before : 1e6);
        return $replies;
    }

    /** Predis takes a last line for whole, also where the connection or the time to read has ended in it. */
    private function isWhole(): bool
    {
        $stream = $this->node->getResource();
        $about = is_resource($stream) ? stream_get_meta_data($stream) : ['eof' => false, 'timed_out' => false];
        return !$about['eof'] && !$about['timed_out'];
    }

    /** Sets the timeout of the next read. */
    private function limit(float $seconds): void
    {
        $seconds = max($seconds, 0.001);
        if (is_resource($stream = $this->node->getResource())) {
            stream_set_timeout($stream, (int) $seconds, (int) (fmod($seconds, 1) * 1e6));
        }
    }

    public function drop(): void
    {
        $this->node->disconnect();
        $this->forget !== null && ($this->forget)($this->node);
    }

    public function prefix(): string
    {
        return $this->prefix;
    }

    public function isCluster(): bool
    {
        return false;
    }
}
