<?php

declare(strict_types=1);

namespace Seckill;

/**
 * An entry for a worker. A repeated entry has an equal (id, epoch, rev) in its data.
 *
 * @phpstan-type Event array{event: string, sale: string, data: array<string, mixed>, user: ?string, req: ?string,
 *     outbox: ?string, split: ?string}
 */
final class Order
{
    public function __construct(
        public readonly string $id,
        /** @var ?Event null if it was trimmed before anybody acknowledged it, or if another program wrote it */
        public readonly ?array $event,
        private readonly \Closure $acknowledge,
    ) {
    }

    /** Acknowledges the entry after the work. */
    public function ack(): void
    {
        ($this->acknowledge)($this->id);
    }
}
