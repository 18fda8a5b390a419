<?php

declare(strict_types=1);

namespace Seckill;

/** Nobody knows whether it happened; the same call with this req tells and never repeats it. */
final class Unanswered extends \RuntimeException
{
    public function __construct(
        public readonly string $req,
        /** Attempts that had no reply. */
        public readonly int $lost,
        string $why,
        ?\Throwable $previous = null,
    ) {
        parent::__construct('ask again with the same REQ: ' . $why, 0, $previous);
    }
}
