<?php

// Records of sql.php about the column's value before it was set to 0: in a table of the shop, in the transaction that
// sets it, or in a hash beside the sale, outside any transaction.

declare(strict_types=1);

final class TableNotes
{
    public function __construct(private readonly Carry $carry, private readonly PDO $shop)
    {
        try {
            $shop->query('SELECT sale FROM seckill_carried LIMIT 1')->fetchAll();
        } catch (PDOException) {
            $this->make();
        }
        $carry->shop = $shop;
    }

    private function make(): void
    {
        try {
            $this->shop->exec('CREATE TABLE seckill_carried
                (sale VARCHAR(255) PRIMARY KEY, units INT NOT NULL, state VARCHAR(8) NOT NULL, base BIGINT NOT NULL,
                noted TEXT NOT NULL)');
        } catch (PDOException $why) {
            Carry::fail("{$why->getMessage()}\nThis user may make no table seckill_carried: say --notes new, and none "
                . 'is needed');
        }
    }

    /** @return array{int, int} the remaining units, and the number of grants before the sale was filled */
    public function aside(): array
    {
        $row = $this->shop->prepare('SELECT units, base FROM seckill_carried WHERE sale = ?');
        $row->execute([$this->carry->option('sale')]);
        return array_map(intval(...), $row->fetch(PDO::FETCH_NUM));
    }

    /** Runs inside the transaction that sets the column to 0. */
    public function close(int $units, int $base, callable $sold): void
    {
        $note = $this->shop->prepare("REPLACE INTO seckill_carried VALUES (?, ?, 'begun', ?, '')");
        $note->execute([$this->carry->option('sale'), $units, $base]);
    }

    public function closed(): void
    {
    }

    public function settle(callable $units, callable $sold): void
    {
    }

    /** Restores the column in one transaction with the record. */
    public function giveBack(int $units, callable $set, callable $sold): void
    {
        $this->shop->beginTransaction();
        $set($units);
        $this->carry->mark('back');
        $this->shop->commit();
    }
}

/** The hash has `closing` before the transaction is committed, and `begun` after it. */
final class HashNotes
{
    public function __construct(private readonly Carry $carry, private readonly PDO $shop)
    {
    }

    /** @return array{int, int} as in the table */
    public function aside(): array
    {
        return [(int) $this->carry->note('units'), (int) $this->carry->note('base')];
    }

    /** Runs inside the transaction: its lock keeps the old page from selling. */
    public function close(int $units, int $base, callable $sold): void
    {
        $this->carry->setNotes(['state' => 'closing', 'units' => $units, 'base' => $base, 'rows' => $sold()]);
    }

    public function closed(): void
    {
        $this->carry->setNotes(['state' => 'begun']);
    }

    /** The hash has `giving` before the column is written, and `back` after it. */
    public function giveBack(int $units, callable $set, callable $sold): void
    {
        $this->carry->setNotes(['state' => 'giving', 'given' => $units, 'rows' => $sold()]);
        $set($units);
        $this->carry->mark('back');
    }

    /** After a run that stopped between the two steps: finds out whether the column was written. Fails if that is
     * unknown. */
    public function settle(callable $units, callable $sold): void
    {
        $state = $this->carry->state();
        if ($state !== 'closing' && $state !== 'giving') {
            return;
        }
        $is = (int) ($units()[0] ?? 0);
        $was = (int) $this->carry->note($state === 'closing' ? 'units' : 'given');
        // Closing sets the column to 0, but so does the old page when it sells out.
        if ($is === 0 && $was > 0 && $sold() !== (int) $this->carry->note('rows')) {
            Carry::fail("a run was stopped while it wrote the column: that has 0, $was were left, and --orders has "
                . 'other rows than then, so the old page has sold. Take it off, write what is left into the column, '
                . "and say DEL {$this->carry->option('sale')}:carried to the new server");
        }
        if ($state === 'closing') {
            $this->carry->setNotes(['state' => $is === 0 ? 'begun' : '']);
        } elseif ($is > 0 || $was === 0) {
            $this->carry->mark('back');
        } else {
            $this->carry->isBack() || Carry::fail('it was going back: send the line with --back yes again');
            $this->carry->setNotes(['state' => 'done']);
        }
    }
}
