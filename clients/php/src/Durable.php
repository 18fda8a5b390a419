<?php

declare(strict_types=1);

namespace Seckill;

/** Makes answers say whether this many replicas have the grant; the mark is the key of a counter. */
final class Durable
{
    public function __construct(
        public readonly string $mark,
        public readonly int $replicas = 1,
        public readonly int $timeoutMs = 1000,
    ) {
    }
}
