<?php

// Earlier buyers, each as [user, order, quantity, Unix milliseconds or 0].

declare(strict_types=1);

final class Buyers
{
    /** @return array{string, string, int, int} a buyer of a record without orders */
    public static function won(string $user, int $atMs = 0): array
    {
        return [$user, Carry::REQ, 1, $atMs];
    }

    /** @return list<array{string, string, int, int}> rows of --buyers FILE: user,order[,quantity[,Unix ms]] in CSV */
    public static function fromFile(string $path): array
    {
        if ($path === '') {
            return [];
        }
        $file = @fopen($path, 'r') ?: Carry::fail("can't read $path");
        $rows = [];
        while (($row = fgetcsv($file, null, ',', '"', '')) !== false) {
            $row === [null] || $rows[] = $row;
        }
        return self::checked($rows);
    }

    /** Checks all buyers before any change; fails for one that can't be imported. */
    public static function checked(array $rows): array
    {
        $known = $wrong = [];
        foreach ($rows as $place => $row) {
            [$user, $order, $qty, $atMs] = array_map(strval(...), $row) + ['', '', '1', '0'];
            $isNumber = fn (string $text) => preg_match('/^(0|[1-9]\d{0,14})(\.0*)?$/D', $text) === 1;
            $fits = strlen($user) >= 1 && strlen($user) <= 256 && strlen($order) >= 1 && strlen($order) <= 128;
            $isTime = $isNumber($atMs) && ((int) $atMs === 0 || (int) $atMs >= 1e11);
            $fits = $fits && $isNumber($qty) && (int) $qty > 0 && $isTime && !isset($known["$user\0$order"]);
            $fits || $wrong[] = 'row ' . ($place + 1) . ': ' . json_encode($row, JSON_INVALID_UTF8_SUBSTITUTE);
            $known["$user\0$order"] = [$user, $order, (int) $qty, (int) $atMs];
        }
        $wrong === [] || Carry::fail(implode("\n", $wrong) . "\n" . count($wrong)
            . ' rows are not user,order,quantity,ms, or are there twice; nothing was done');
        return array_values($known);
    }
}
