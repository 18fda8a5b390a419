<?php

// Records of a move for later runs: its progress and its options. They are in a hash beside the old keys,
// `SALE:carried`. For SQL they are in a table of the shop, seckill_carried, or with --notes new in a hash beside the
// sale.

declare(strict_types=1);

trait Notes
{
    /** The database with the table of records, for SQL. */
    public ?PDO $shop = null;

    /** The server with the hash of records. */
    private function keeper(): Redis
    {
        return $this->option('notes') === 'new' || $this->old === null ? $this->new : $this->old;
    }

    /** A field of the hash of records. */
    public function note(string $field): string
    {
        return (string) $this->keeper()->hGet($this->notes(), $field);
    }

    /** @param array<string, mixed> $fields of the hash, set in one step */
    public function setNotes(array $fields): void
    {
        $this->keeper()->hMSet($this->notes(), $fields) || self::fail('the notes: ' . $this->keeper()->getLastError());
    }

    /** The progress: '', 'begun' (the old side is closed), 'done' or 'back'. */
    public function state(): string
    {
        if ($this->shop === null) {
            return $this->note('state');
        }
        $row = $this->shop->prepare('SELECT state FROM seckill_carried WHERE sale = ?');
        $row->execute([$this->sale]);
        return (string) $row->fetchColumn();
    }

    /**
     * Whether an earlier run has finished the move; then `endAgain` ends this run. Fails for an option that differs
     * from that run's, because it would have no effect.
     * @param string ...$readAgain further options that may differ
     */
    public function isDone(string ...$readAgain): bool
    {
        $from = $this->shop === null ? $this->note('from') : '';
        if ($from !== '' && $from !== $this->source() && $this->state() !== 'back') {
            self::fail("$this->sale was carried over from $from: take another --sale");
        }
        if ($this->state() !== 'done') {
            return false;
        }
        $now = $this->carriedOptions();
        $then = $this->noted()['options'] ?? $now;
        foreach (array_diff(array_keys($now + $then), $readAgain) as $name) {
            $said = fn ($options) => isset($options[$name]) ? "with --$name '$options[$name]'" : "without --$name";
            ($now[$name] ?? null) === ($then[$name] ?? null) || self::fail(
                "$this->sale was moved {$said($then)}, this line is {$said($now)}: nothing was done. "
                . 'To move it otherwise: that line with --back yes, then this one with another --sale'
            );
        }
        return true;
    }

    /** @return array<string, string> the options that decide the move */
    private function carriedOptions(): array
    {
        $carried = array_diff_key($this->options, array_flip(self::READ_AGAIN));
        return json_decode(json_encode($carried, JSON_INVALID_UTF8_SUBSTITUTE), true);
    }

    /** @return array{options?: array<string, string>, last?: int} the records of the run that finished the move */
    private function noted(): array
    {
        if ($this->shop === null) {
            $noted = $this->note('noted');
        } else {
            $row = $this->shop->prepare('SELECT noted FROM seckill_carried WHERE sale = ?');
            $row->execute([$this->sale]);
            $noted = $row->fetchColumn();
        }
        return json_decode((string) $noted, true) ?? [];
    }

    /** Records the progress, and values for a later run. */
    public function mark(string $state, array $noted = []): void
    {
        $told = json_encode($noted);
        if ($this->shop === null) {
            $this->setNotes(['state' => $state, 'noted' => $told]);
            return;
        }
        $row = $this->shop->prepare('UPDATE seckill_carried SET state = ?, noted = ? WHERE sale = ?');
        $row->execute([$state, $told, $this->sale]);
    }

    private function notes(): string
    {
        return "$this->sale:carried";
    }

    /** The old key of the move. */
    private function source(): string
    {
        return $this->options['counter'] ?? $this->options['list'] ?? $this->options['winners'] ?? '';
    }
}
