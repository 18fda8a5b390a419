<?php

declare(strict_types=1);

namespace Seckill;

/**
 * What a worker has to do. It may come twice: (id, epoch, rev) in the data tell.
 *
 * @phpstan-type Event array{event: string, sale: string, data: array<string, mixed>, user: ?string, req: ?string,
 *     outbox: ?string, split: ?string}
 */
final class Order
{
    public function __construct(
        public readonly string $id,
        /** @var ?Event null: it was trimmed before anybody acknowledged it */
        public readonly ?array $event,
        private readonly \Closure $acknowledge,
    ) {
    }

    /** When it is done. */
    public function ack(): void
    {
        ($this->acknowledge)($this->id);
    }
}
