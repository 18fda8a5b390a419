<?php

// Shared by counter.php and locks.php, whose stock is a number. See carry.php.

require __DIR__ . '/carry.php';

/** Moves the key of --counter, or moves it back. Its sold-out value is $upTo, or 0 if it counts down. */
function carryStock(Carry $carry, int $upTo, ?string $lock): void
{
    $carry->isBack() ? giveStockBack($carry, $upTo, $lock) : carryStockOver($carry, $upTo, $lock);
}

function carryStockOver(Carry $carry, int $upTo, ?string $lock): void
{
    $counter = $carry->option('counter');
    if ($carry->isDone()) {
        $carry->refuseNewBuyers(knownBuyers($carry));
        $carry->endAgain(isLate($carry, $upTo, $lock));
    }
    $total = $carry->option('total');
    $aside = $carry->checkAside($counter);
    $before = $carry->old->get($carry->state() === 'begun' ? $aside : $counter);
    filter_var($before, FILTER_VALIDATE_INT) === false && Carry::fail("$counter holds no number");
    $buyers = knownBuyers($carry);
    $sold = soldBefore($carry, $total, $buyers);
    $carry->prepare();
    refuseCoins($carry);
    $carry->close(function (Redis $old) use ($carry, $counter, $upTo, $lock) {
        $lock === null || $old->set($lock, 'moved');
        $carry->aside($old, $counter, (string) $upTo);
    });
    $value = (int) $carry->old->get($aside);
    $left = $upTo > 0 ? $upTo - $value : $value;
    $units = $sold === '' ? $left : (int) $total - (int) $sold;
    $carry->fill($units, $buyers);
    $carry->finish();
    if ($units < 0 && $sold === '') {
        echo 'below zero by ', -$units, ': the sale has no units left. A program that looks before it takes has ',
            "oversold by so many; one that takes first has not, and may have units left: count your orders\n";
    } elseif ($units < 0) {
        echo 'oversold: ', -$units, " more were told that they had won than there were\n";
    }
    isLate($carry, $upTo, $lock) && exit(Carry::LATE);
}

/** Earlier sold units, by --sold or by the rows of buyers. Fails if they differ, because then a row is wrong. */
function soldBefore(Carry $carry, string $total, array $buyers): string
{
    $sold = $carry->option('sold');
    $hasOrders = $carry->option('buyers') !== '';
    // A record of users has each user once, however many units that user has bought, and may lack some.
    ($total === '' ? $sold === '' : $sold !== '' || $hasOrders)
        || Carry::fail('--total needs --sold, the orders that you counted, or --buyers with all of them (--winners has '
            . 'users, not orders); --sold needs --total');
    $units = array_sum(array_column($buyers, 2));
    if ($sold !== '' && ($units > (int) $sold || ($units < (int) $sold && $hasOrders))) {
        Carry::fail("--sold is $sold, but --buyers or --winners have $units units: nothing was done");
    }
    return $total !== '' && $sold === '' ? (string) $units : $sold;
}

/** Buyers of --buyers FILE, or users of --winners KEY on the old server, each with one unit. */
function knownBuyers(Carry $carry): array
{
    $key = $carry->option('winners');
    $key === '' || $carry->option('buyers') === '' || Carry::fail('--buyers or --winners, not both');
    $key === '' || $carry->checkRecord($key);
    $rows = Buyers::fromFile($carry->option('buyers'));
    if ($rows === [] && $carry->option('buyers') !== '' && $carry->option('empty') !== 'yes') {
        Carry::fail("there is no row in {$carry->option('buyers')}: if nobody has bought yet, say --empty yes");
    }
    $winners = $key === '' ? [] : array_keys(iterator_to_array($carry->users($key)));
    return $key === '' ? $rows
        : array_map(fn ($user) => Buyers::won((string) $user), $winners);
}

function giveStockBack(Carry $carry, int $upTo, ?string $lock): void
{
    $counter = $carry->option('counter');
    $state = $carry->checkBack();
    if ($state === 'done') {
        refuseCoins($carry);
        if ($upTo > 0 && $carry->status()['supply'] > $upTo) {
            Carry::fail("the sale has more units than the counter counts: are they coins, and the counter's packets?");
        }
    }
    bookLate($carry, $upTo, $lock) === null && Carry::fail('nothing was taken back');
    $late = lateUnits($carry, $upTo, $lock);
    $left = $carry->takeBack();
    $value = $left === null ? (int) $carry->old->get("$counter:moved") : 0;
    $value += match (true) {
        $left === null => $upTo > 0 ? $late : -$late,
        default => $upTo > 0 ? $upTo - $left : $left,
    };
    $carry->giveBack(function (Redis $old) use ($counter, $lock, $value) {
        $old->set($counter, (string) $value);
        $old->del(...array_filter(["$counter:moved", $lock]));
    });
}

/** Refuses a sale of coins, because the counter would get a number of coins. */
function refuseCoins(Carry $carry): void
{
    ['limit' => $limit, 'grabs' => $grabs] = $carry->status();
    $limit === 0 && $grabs > 0 && Carry::fail('a sale of amounts (DRAW, LIMIT 0 GRABS n) has no counter; see "coins"');
}

/** Number of late sales: --late, or a lock's stock below zero. */
function lateUnits(Carry $carry, int $upTo, ?string $lock): int
{
    $said = $carry->option('late');
    return $said !== '' ? (int) $said : ($lock === null ? 0 : max(0, -(int) $carry->old->get($carry->option('counter'))));
}

/** Whether the old program has sold or written since the move, and no option reports that. */
function isLate(Carry $carry, int $upTo, ?string $lock): bool
{
    $booked = bookLate($carry, $upTo, $lock);
    return $booked === null || ($booked > 0 && $carry->option('late') === '');
}

/** Withdraws late sales. Returns the number of new ones, or null if the counter does not show it. */
function bookLate(Carry $carry, int $upTo, ?string $lock): ?int
{
    $counter = $carry->option('counter');
    $late = lateUnits($carry, $upTo, $lock);
    $booked = $carry->state() === 'done' ? $carry->bookLate($late) : 0;
    if ($lock === null && $carry->option('late') !== '' && $carry->state() === 'done') {
        $carry->shutAgain($counter, (string) $upTo);
    }
    if ($late > 0 || $carry->option('late') !== '' || $carry->isLeft($counter, (string) $upTo)) {
        return $booked;
    }
    echo "count the orders that came since the move, and say --late with their number (0 if none)\n";
    return null;
}
