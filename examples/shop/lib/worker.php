<?php

// A worker: a loop that continues after errors and waits while a server does not answer.

declare(strict_types=1);

/** Runs $work forever with a connection. $work returns the number of finished items; errors are retried after 1 s. */
function work_for_ever(Closure $work): never
{
    $database = null;
    for (;;) {
        try {
            $done = $work($database ??= database());
            usleep($done > 0 ? 0 : 100_000);
        } catch (Throwable $why) {
            error_log($why::class . ": {$why->getMessage()}");
            $database = null;
            sleep(1);
        }
    }
}
