<?php

declare(strict_types=1);

namespace Seckill;

/** The reply to a call. Fields that the outcome lacks are null. Times are Unix milliseconds. */
final class Answer
{
    public function __construct(
        public readonly string $req,
        /** The first word: the outcome of a grab, or the grant's state after another call. */
        public readonly string $outcome,
        public readonly ?string $state = null,
        public readonly ?int $seq = null,
        public readonly ?int $qty = null,
        public readonly ?int $deadlineMs = null,
        public readonly ?int $available = null,
        public readonly ?int $held = null,
        public readonly ?int $allowance = null,
        public readonly ?int $opensInMs = null,
        public readonly ?int $ticket = null,
        public readonly ?int $ahead = null,
        public readonly ?int $unitsAhead = null,
        public readonly ?int $unit = null,
        /** @var ?list<int> the grant's numbers; null in a sale without NUMBERED */
        public readonly ?array $units = null,
        /** Attempts without a reply. After a refusal one of them may still arrive: cancel. */
        public readonly int $lost = 0,
        public readonly ?bool $durable = null,
    ) {
    }

    public function won(): bool
    {
        return in_array($this->state, ['HELD', 'SOLD'], true);
    }

    /** The outcome, for a `match` over all words. */
    public function kind(): Outcome
    {
        return Outcome::from($this->outcome);
    }
}
