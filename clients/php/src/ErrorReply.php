<?php

declare(strict_types=1);

namespace Seckill;

/** @internal An error that the server replied. */
final class ErrorReply
{
    public function __construct(public readonly string $message)
    {
    }

    public function code(): string
    {
        return explode(' ', $this->message, 2)[0];
    }

    /** Whether the message is a server's error, not a library's about a lost connection. */
    public static function is(string $message): bool
    {
        return preg_match('/^[A-Z]{3,}( |$)/', $message) === 1;
    }
}
