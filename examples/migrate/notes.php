<?php

// Notes of a move for a later run: its progress, and its options. They are in a hash beside the old keys,
// `SALE:carried`; for the SQL family in a table of the shop, seckill_carried, or with --notes new in a hash beside
// the sale.

declare(strict_types=1);

trait Notes
{
    /** Where the SQL family notes how far it came, if that is in a table. */
    public ?PDO $shop = null;

    /** The server of the hash. */
    private function keeper(): Redis
    {
        return $this->option('notes') === 'new' || $this->old === null ? $this->new : $this->old;
    }

    /** A field of the hash of notes. */
    public function note(string $field): string
    {
        return (string) $this->keeper()->hGet($this->notes(), $field);
    }

    /** @param array<string, mixed> $fields for the hash, in one step */
    public function setNotes(array $fields): void
    {
        $this->keeper()->hMSet($this->notes(), $fields) || self::fail('the notes: ' . $this->keeper()->getLastError());
    }

    /** How far it came: '', 'begun' (the old side is closed), 'done' or 'back'. */
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
     * Whether all was carried over before; then the sale is the operator's, and `endAgain` ends the run. Fails
     * for an option that was another one then: it would be taken for done.
     * @param string ...$readAgain options beside self::READ_AGAIN
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

    /** @return array<string, string> the options that decide what is carried over, and how */
    private function carriedOptions(): array
    {
        $carried = array_diff_key($this->options, array_flip(self::READ_AGAIN));
        return json_decode(json_encode($carried, JSON_INVALID_UTF8_SUBSTITUTE), true);
    }

    /** @return array{options?: array<string, string>, last?: int} what the run that carried all over has noted */
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

    /** Notes the progress, and values that a later run needs. */
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

    /** The key that this program carries from. */
    private function source(): string
    {
        return $this->options['counter'] ?? $this->options['list'] ?? $this->options['winners'] ?? '';
    }
}
