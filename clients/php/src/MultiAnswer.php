<?php

declare(strict_types=1);

namespace Seckill;

/** The reply to MGRAB: a grant for each sale, or the first refusing sale with its answer. */
final class MultiAnswer
{
    public function __construct(
        public readonly string $req,
        /** GRANTED, REPLAY or REFUSED. */
        public readonly string $outcome,
        /** @var list<Answer> */
        public readonly array $grants = [],
        public readonly ?int $index = null,
        public readonly ?Answer $refusal = null,
        public readonly int $lost = 0,
        public readonly ?bool $durable = null,
    ) {
    }

    public function won(): bool
    {
        $won = array_filter($this->grants, fn (Answer $grant) => $grant->won());
        return $won !== [] && count($won) === count($this->grants);
    }
}
