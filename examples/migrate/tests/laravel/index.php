<?php

// A minimal Laravel app in one file: its kernel, users with a token, and the routes of routes/api.php. The test writes
// the blocks of docs/migrate-more.md beside it, into files with the names in the blocks.

declare(strict_types=1);

use Illuminate\Config\Repository;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Bootstrap;
use Illuminate\Foundation\Exceptions\Handler;
use Illuminate\Foundation\Http\Kernel;
use Illuminate\Foundation\Support\Providers\RouteServiceProvider;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Route;

require getenv('LARAVEL');
// `autoload.files` of composer.json.
foreach (explode(':', getenv('FILES')) as $file) {
    require $file;
}

final class OrderService
{
    public function write(string $order, string $user): bool
    {
        DB::table('orders')->insertOrIgnore(['order_no' => $order, 'user' => $user, 'goods_id' => 1]);
        return true;
    }

    public function remove(string $order): void
    {
        DB::table('orders')->where('order_no', $order)->delete();
    }
}

final class Routes extends RouteServiceProvider
{
    public function map(): void
    {
        Route::prefix('api')->group(__DIR__ . '/routes/api.php');
    }
}

final class Web extends Kernel
{
    protected $bootstrappers = [
        Bootstrap\HandleExceptions::class, Bootstrap\RegisterFacades::class,
        Bootstrap\RegisterProviders::class, Bootstrap\BootProviders::class,
    ];
    protected $routeMiddleware = ['auth' => Illuminate\Auth\Middleware\Authenticate::class];
}

$app = new Application(__DIR__);
$app->singleton(ExceptionHandler::class, Handler::class);
$app->instance('config', new Repository([
    'app' => [
        'debug' => true, 'env' => 'local', 'locale' => 'en', 'aliases' => [], 'cipher' => 'AES-256-CBC',
        'key' => str_repeat('k', 32),
        'providers' => [
            Illuminate\Auth\AuthServiceProvider::class, Illuminate\Cache\CacheServiceProvider::class,
            Illuminate\Database\DatabaseServiceProvider::class, Illuminate\View\ViewServiceProvider::class,
            Illuminate\Encryption\EncryptionServiceProvider::class, Illuminate\Hashing\HashServiceProvider::class,
            Illuminate\Filesystem\FilesystemServiceProvider::class, Routes::class,
        ],
    ],
    'auth' => [
        'defaults' => ['guard' => 'api'],
        'guards' => ['api' => ['driver' => 'token', 'provider' => 'users']],
        'providers' => ['users' => ['driver' => 'database', 'table' => 'users']],
    ],
    'cache' => ['default' => 'array', 'stores' => ['array' => ['driver' => 'array']]],
    'database' => [
        'default' => 'mysql',
        'connections' => ['mysql' => [
            'driver' => 'mysql', 'unix_socket' => getenv('SOCKET'), 'database' => 'shop',
            'username' => 'root', 'password' => '', 'charset' => 'utf8mb4', 'prefix' => '',
        ]],
    ],
    'view' => ['paths' => [], 'compiled' => __DIR__],
]));
$app->detectEnvironment(fn () => 'local');
$kernel = new Web($app, $app['router']);
$request = Request::capture();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
