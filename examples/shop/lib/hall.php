<?php

// The hall: the seat of each number, and the map.

declare(strict_types=1);

/**
 * Row and seat of a number. Numbers run to the right in one row and back to the left in the next. So consecutive
 * numbers are always neighbouring seats, side by side or behind each other, as ADJACENT needs.
 */
function place(string $item, int $unit): array
{
    $row = GOODS[$item]['row'];
    [$before, $at] = [intdiv($unit - 1, $row), ($unit - 1) % $row];
    return [$before + 1, $before % 2 === 0 ? $at + 1 : $row - $at];
}

/** Numbers as text: seats of a hall, or the numbers themselves. */
function places(string $item, array $units): string
{
    $word = isset(GOODS[$item]['row']) ? fn (int $unit) => t('%d排%d座', ...place($item, $unit)) : fn (int $unit) => "#$unit";
    return implode(comma(), array_map($word, $units));
}

/** The map, whose seats shop.js paints; `mine` are the visitor's numbers. */
function hall(string $item, array $mine): string
{
    $rows = [];
    for ($unit = 1; $unit <= GOODS[$item]['seats']; $unit++) {
        [$row, $seat] = place($item, $unit);
        $rows[$row][$seat] = "<button type=\"button\" data-unit=\"$unit\" aria-label=\"" . places($item, [$unit])
            . "\" disabled>$seat</button>";
    }
    $html = '';
    foreach ($rows as $row => $seats) {
        ksort($seats);
        $html .= "<div><span>$row</span>" . implode($seats) . '</div>';
    }
    $legend = '';
    $looks = ['free' => '可选', 'chosen' => '已选', 'held' => '待付款', 'sold' => '已售', 'mine' => '我的'];
    foreach ($looks as $look => $words) {
        $legend .= "<span><i data-look=\"$look\"></i>" . t($words) . '</span> ';
    }
    return "<div id=\"hall\" data-item=\"$item\" data-mine=\"" . h(json_encode($mine)) . '"><p>' . t('舞台') . "</p>$html"
        . "<p class=\"legend\">$legend</p></div>";
}
