<?php

declare(strict_types=1);

namespace Seckill;

/**
 * One sale. For a null or empty REQ, `grab`, `wait` and `mgrab` make a new one; in other calls it means the
 * user's only grant. All calls throw SaleError and Unanswered.
 *
 * @phpstan-type Row array{seq: int, user: string, qty: int, state: string, atMs: int, deadlineMs: int, req: ?string,
 *     epoch: int, round: int, units: ?list<int>}
 */
interface SaleInterface
{
    /**
     * Asks for units. All attempts have one REQ: the order's, or a new one.
     *
     * @param ?list<int> $units in a sale with NUMBERED: exactly these numbers
     * @param bool $adjacent in a sale with NUMBERED: consecutive numbers
     */
    public function grab(
        string $user,
        ?string $req = null,
        ?int $qty = null,
        ?int $upto = null,
        ?array $units = null,
        bool $adjacent = false,
    ): Answer;

    /** Grabs, or joins the waiting list if nothing is left. */
    public function wait(string $user, ?string $req = null, ?int $qty = null, ?int $untilMs = null): Answer;

    /**
     * $keep, here and below: this many units, or the units with these numbers, stay; the others are returned.
     *
     * @param int|list<int>|null $keep
     */
    public function confirm(
        string $user,
        ?string $req = null,
        bool $reclaim = false,
        int|array|null $keep = null,
    ): Answer;

    /** @param int|list<int>|null $keep */
    public function cancel(string $user, ?string $req = null, int|array|null $keep = null): Answer;

    public function extend(string $user, int $ms, ?string $req = null): Answer;

    /** @param int|list<int>|null $keep */
    public function refund(string $user, ?string $req = null, int|array|null $keep = null): Answer;

    /**
     * Units of this sale and of others in its slot, all or none.
     *
     * @param list<string> $others
     * @param int|list<int>|null $qty one for all sales, or a list
     */
    public function mgrab(string $user, array $others, ?string $req = null, int|array|null $qty = null): MultiAnswer;

    /** @return array<string, mixed> */
    public function status(): array;

    /** A character for each number from the first on: '.' free, 'h' held, 's' sold. */
    public function units(int $first = 1, int $count = 1000): string;

    /** @return ?Row the grant that has this number */
    public function unit(int $unit): ?array;

    /** @return array{allowance: int, admission: string, grants: list<Row>} an allowance of -1 means no limit */
    public function user(string $user): array;

    /** @return ?array{ticket: int, ahead: int, unitsAhead: int} null if the user is not on the waiting list */
    public function place(string $user): ?array;

    /** @return \Generator<int, Row> */
    public function winners(string $state = 'LIVE', int $after = 0): \Generator;

    /** @return \Generator<int, Order> the entries of this sale's outbox, for a worker */
    public function orders(
        string $stream,
        string $group,
        string $name,
        int $idleMs = 60_000,
        int $blockMs = 1000,
        bool $follow = true,
    ): \Generator;
}
