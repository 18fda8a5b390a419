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

    /** Whether a server without a free connection says so. It has executed nothing. */
    public static function isFull(string $message): bool
    {
        return str_starts_with($message, 'ERR max number of clients');
    }

    /** Whether it passes although it begins with ERR: after an internal error nobody knows what was executed. */
    public static function passes(string $message): bool
    {
        return self::isFull($message) || str_starts_with($message, 'ERR internal error');
    }

    /** Whether the message is a server's error, not a library's about a lost connection. */
    public static function is(string $message): bool
    {
        return preg_match('/^[A-Z]{3,}( |$)/', $message) === 1;
    }
}
