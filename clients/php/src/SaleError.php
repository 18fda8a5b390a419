<?php

declare(strict_types=1);

namespace Seckill;

/** The server refused the call and changed nothing; errorCode is the error's first word. */
final class SaleError extends \RuntimeException
{
    public function __construct(string $message, public readonly string $errorCode)
    {
        parent::__construct($message);
    }
}
