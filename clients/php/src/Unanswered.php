<?php

declare(strict_types=1);

namespace Seckill;

/** The outcome is unknown. Send the call again with this req: it never takes units twice. */
final class Unanswered extends \RuntimeException
{
    public function __construct(
        public readonly string $req,
        /** Attempts without a reply. */
        public readonly int $lost,
        string $why,
        ?\Throwable $previous = null,
    ) {
        parent::__construct('ask again with the same REQ: ' . $why, 0, $previous);
    }
}
