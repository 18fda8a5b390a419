<?php

declare(strict_types=1);

namespace Seckill;

/** @internal */
final class Slots
{
    /** The slot: CRC-16 (XMODEM) of the key, or of its hash tag. */
    public static function of(string $key): int
    {
        $open = strpos($key, '{');
        $close = $open === false ? false : strpos($key, '}', $open);
        if ($close !== false && $close > $open + 1) {
            $key = substr($key, $open + 1, $close - $open - 1);
        }
        $crc = 0;
        foreach (unpack('C*', $key) ?: [] as $byte) {
            $crc ^= $byte << 8;
            for ($bit = 0; $bit < 8; $bit++) {
                $crc = ($crc & 0x8000) !== 0 ? ($crc << 1) ^ 0x1021 : $crc << 1;
            }
        }
        return ($crc & 0xffff) % 16384;
    }
}
