<?php

declare(strict_types=1);

namespace Seckill;

/** @internal Parses replies and entries. */
final class Words
{
    public static function answer(mixed $reply): Answer
    {
        $word = is_array($reply) ? ($reply[0] ?? '') : '';
        $names = is_string($word) ? Tables::FIELDS[$word] ?? [] : [];
        return self::named($names, (array) $reply, (string) $word);
    }

    public static function answers(mixed $reply): MultiAnswer
    {
        $word = is_array($reply) ? ($reply[0] ?? '') : '';
        if ($word === 'REFUSED') {
            return new MultiAnswer('', $word, [], $reply[1], self::answer(self::first(3, $reply)[2]));
        }
        in_array($word, ['GRANTED', 'REPLAY'], true) || throw new \UnexpectedValueException('not an answer');
        $grant = fn (array $row) => self::named(Tables::FIELDS[$word], [$word, ...$row], $word);
        return new MultiAnswer('', $word, array_map($grant, array_slice($reply, 1)));
    }

    /** Names the words. There may be more words than names, but not fewer. */
    private static function named(array $names, array $words, string $outcome): Answer
    {
        if ($names === [] || count($words) < count($names)) {
            throw new \UnexpectedValueException('not an answer');
        }
        $told = array_combine($names, array_slice(array_values($words), 0, count($names)));
        if (!in_array($told['state'] ?? 'HELD', [...Tables::STATES, 'NOGRANT'], true)) {
            throw new \UnexpectedValueException('not an answer');
        }
        try {
            $units = self::units(array_values($words), count($names));
            return new Answer(...['req' => '', 'outcome' => $outcome, 'units' => $units, ...$told]);
        } catch (\TypeError) {
            throw new \UnexpectedValueException('not an answer');
        }
    }

    /** Unit numbers at the end of a reply or a row, in a sale with NUMBERED. */
    private static function units(array $words, int $count): ?array
    {
        return is_array($words[$count] ?? null) ? $words[$count] : null;
    }

    /** The words of a reply that must have this many at least. */
    public static function first(int $count, array $words): array
    {
        return count($words) < $count ? throw new \UnexpectedValueException('not an answer') : $words;
    }

    public static function rows(array $rows): array
    {
        // phpredis returns false for null.
        $count = count(Tables::ROW);
        return array_map(fn (array $row) => ['req' => self::first($count, $row)[6] === false ? null : $row[6]]
            + array_combine(Tables::ROW, array_slice($row, 0, $count)) + ['units' => self::units($row, $count)], $rows);
    }

    public static function event(array $fields): array
    {
        $told = array_is_list($fields) ? array_column(array_chunk($fields, 2), 1, 0) : $fields;
        isset($told['event'], $told['sale'], $told['data'])
            || throw new \UnexpectedValueException('not an entry of a sale');
        $data = json_decode($told['data'], true, 9, JSON_THROW_ON_ERROR);
        if (!is_array($data) || ($data !== [] && array_is_list($data))) {
            throw new \UnexpectedValueException('not an entry of a sale');
        }
        return ['data' => $data] + $told + array_fill_keys(Tables::EVENT, null);
    }
}
