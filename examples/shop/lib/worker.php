<?php

// A worker: a loop that goes on after errors, and waits while a server does not answer.

declare(strict_types=1);

/** Does $work on a connection for ever. It says how much it did; what fails is tried again a second later. */
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
