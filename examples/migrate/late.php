<?php

// Sales of the old program after the move. A run that finds some prints them and ends with 2; it enters them only
// where that is certain (a lock's stock below zero) or asked for: --late N, --enter-late yes.

declare(strict_types=1);

trait SoldSince
{
    private bool $isChanged = false;

    /**
     * Buyers that the sale has not, and those whose order it knows. A user of whom it has as much as all
     * their rows say is not missing: the new page writes rows, too, and not always with its order.
     * @return array{list<array>, list<array>}
     */
    private function compare(array $buyers): array
    {
        $lacks = $known = [];
        foreach ($buyers as [$user, , $qty]) {
            $lacks[$user] = ($lacks[$user] ?? 0) + $qty;
        }
        foreach ($this->grantsIn('LIVE') as [, $user, $qty, , , , $req]) {
            $lacks[$user] = ($lacks[$user] ?? 0) - $qty;
            $known["$user\0$req"] = true;
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
     * What those of $buyers have that the sale has not: the old program sold it since. Entered only if that
     * is asked for, while nobody can buy: a row may also be what the new page has sold, and nobody's late.
     * @return int units that are not entered
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
            // All grants so far are of buyers that this program imported.
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

    /** Fails for buyers that the sale has not: they were not in the file or the key that was carried over. */
    public function refuseNewBuyers(array $buyers): void
    {
        [$missing] = $this->compare($buyers);
        if ($missing !== []) {
            [$user, $order] = $missing[0];
            self::fail(count($missing) . " of --buyers or --winners are not in the sale, the first is $user,$order: "
                . 'nothing was done. If they were not there when it was moved: --back yes, then another --sale');
        }
    }

    /** On the way back: what the old program has sold since, which has to be in the books, or known to be none. */
    public function lateOnTheWayBack(array $buyers): void
    {
        if ($this->state() === 'done' && $this->option('enter-late') !== 'no') {
            $this->late($buyers) === 0 || self::fail('nothing was taken back: say --enter-late yes, or no if it is none');
        }
    }

    /** Whether a key of the old side is as this program left it (null: not there); says so if not. */
    public function isLeft(string $key, ?string $value): bool
    {
        $now = $this->old->type($key) === Redis::REDIS_STRING ? $this->old->get($key)
            : ($this->old->exists($key) ? 'a key' : null);
        return $now === $value || !print("late: the old program wrote $key since, " . ($value ?? 'nothing')
            . ' became ' . ($now ?? 'nothing') . ": take its page off\n");
    }

    /** Makes a key of the old side say "sold out" again, where the old program has written it since. */
    public function shutAgain(string $key, string $value): void
    {
        if ($this->old->get($key) !== $value) {
            $this->old->set($key, $value);
            echo "$key is $value again: the old page says that it is over\n";
        }
    }

    /** Ends a run after all was carried over, and says how the sale is. */
    public function endAgain(bool $isLate): never
    {
        $this->say('moved before, and ' . ($this->isChanged ? 'changed by this run as told above' : 'left as it is'));
        $this->sayWhoComes();
        exit($isLate ? self::LATE : 0);
    }

    /** Takes out of the sale, unit by unit and each once, what the old program has sold since: how many now. */
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
