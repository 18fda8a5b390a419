<?php

// Sales of the old program after the move. A run that finds some prints them and exits with 2. It enters them only if
// they are certain (a lock's stock below zero) or on request: --late N, --enter-late yes.

declare(strict_types=1);

trait SoldSince
{
    private bool $isChanged = false;

    /**
     * Buyers whom the sale lacks, and buyers whose order it has. A user is not missing if the sale has all units of
     * the user's rows, because the new page writes rows, too, and not always with its order. A row whose order has
     * ended in the sale (its hold, or by a refund) is neither: an IMPORT would make it sold.
     * @return array{list<array>, list<array>}
     */
    private function compare(array $buyers): array
    {
        $lacks = $known = $ended = [];
        foreach ($this->grantsIn('ALL') as [, $user, $qty, $state, , , $req]) {
            if ($state === 'HELD' || $state === 'SOLD') {
                $lacks[$user] = ($lacks[$user] ?? 0) - $qty;
                $known["$user\0$req"] = true;
            } else {
                $ended["$user\0$req"] = true;
            }
        }
        $buyers = array_filter($buyers, fn ($row) => !isset($ended["$row[0]\0$row[1]"]));
        foreach ($buyers as [$user, , $qty]) {
            $lacks[$user] = ($lacks[$user] ?? 0) + $qty;
        }
        $missing = $entered = [];
        foreach ($buyers as $row) {
            [$user, $order, $qty] = $row;
            if (isset($known["$user\0$order"])) {
                $entered[] = $row;
            } elseif ($lacks[$user] >= $qty) {
                $lacks[$user] -= $qty;
                $missing[] = $row;
            }
        }
        return [$missing, $entered];
    }

    /**
     * Units of $buyers that the sale lacks: the old program has sold them since the move. They are entered only on
     * request, while nobody can buy, because a row may also be of the new page.
     * @return int units that were not entered
     */
    public function late(array $buyers): int
    {
        [$missing] = $this->compare($buyers);
        $units = array_sum(array_column($missing, 2));
        if ($missing === []) {
            return 0;
        }
        if ($this->option('enter-late') === 'yes') {
            $this->status()['state'] === 'paused' || self::fail("SECKILL.PAUSE $this->sale first: nobody may buy meanwhile");
            $before = $this->grants();
            $this->enter($missing);
            // All grants so far were imported by this program.
            $noted = $this->noted();
            ($noted['last'] ?? null) === $before && $this->mark('done', ['last' => $this->grants()] + $noted);
            echo 'entered: ', count($missing), " late rows, $units in all\n";
            return 0;
        }
        foreach (array_slice($missing, 0, 20) as [$user, $order, $qty]) {
            echo "late: $user has $qty (order $order), and not in the sale\n";
        }
        echo 'late: ', count($missing), " rows, $units in all, were not entered. If the old page wrote them, take it ",
            "off, SECKILL.PAUSE $this->sale, and run this again with --enter-late yes\n";
        return $units;
    }

    /** Fails for buyers whom the sale lacks: they were not in the moved file or key. */
    public function refuseNewBuyers(array $buyers): void
    {
        [$missing] = $this->compare($buyers);
        if ($missing !== []) {
            [$user, $order] = $missing[0];
            self::fail(count($missing) . " of --buyers or --winners are not in the sale, the first is $user,$order: "
                . 'nothing was done. If they were not there when it was moved: --back yes, then another --sale');
        }
    }

    /** Before the way back: late sales of the old program must be entered, or known to be none. */
    public function lateOnTheWayBack(array $buyers): void
    {
        if ($this->state() === 'done' && $this->option('enter-late') !== 'no') {
            $this->late($buyers) === 0 || self::fail('nothing was taken back: say --enter-late yes, or no if it is none');
        }
    }

    /** Whether an old key has still the value that this program left (null: missing). Prints a message if not. */
    public function isLeft(string $key, ?string $value): bool
    {
        $now = $this->old->type($key) === Redis::REDIS_STRING ? $this->old->get($key)
            : ($this->old->exists($key) ? 'a key' : null);
        return $now === $value || !print("late: the old program wrote $key since, " . ($value ?? 'nothing')
            . ' became ' . ($now ?? 'nothing') . ": take its page off\n");
    }

    /** Sets an old key to "sold out" again if the old program has changed it. */
    public function shutAgain(string $key, string $value): void
    {
        if ($this->old->get($key) !== $value) {
            $this->old->set($key, $value);
            echo "$key is $value again: the old page says that it is over\n";
        }
    }

    /** Ends a run after the move and prints the state of the sale. */
    public function endAgain(bool $isLate): never
    {
        $this->say('moved before, and ' . ($this->isChanged ? 'changed by this run as told above' : 'left as it is'));
        $this->sayWhoComes();
        exit($isLate ? self::LATE : 0);
    }

    /** Withdraws late sales of the old program, each once. Returns the number of new ones. */
    public function bookLate(int $late): int
    {
        $first = 1 + (int) $this->old->hGet($this->notes(), 'late');
        $covered = 0;
        for ($unit = $first; $unit <= $late; $unit++) {
            $this->isChanged = true;
            $covered -= $this->call('SECKILL.RESTOCK', $this->sale, -1, 'REQ', "late-$unit")[0];
            $this->old->hSet($this->notes(), 'late', (string) $unit);
        }
        $new = max(0, $late - $first + 1);
        $new === 0 || print("late: $new were sold by the old program since, and $covered taken out of the sale\n");
        $new === $covered || print('oversold: there was no unit for ' . ($new - $covered) . " of them\n");
        return $new;
    }
}
