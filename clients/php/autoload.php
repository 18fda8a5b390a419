<?php

// For a program without Composer: require this file.

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Seckill\\') && is_file($file = __DIR__ . '/src/' . substr($class, 8) . '.php')) {
        require $file;
    }
});
