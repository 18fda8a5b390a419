<?php

// The database, with the user whose password this process got: see grants.sql.

declare(strict_types=1);

function database(): PDO
{
    $at = 'mysql:' . getenv('DATABASE_AT') . ';dbname=' . getenv('DATABASE') . ';charset=utf8mb4';
    return new PDO($at, getenv('DATABASE_USER'), getenv('DATABASE_PASSWORD'), [
        PDO::ATTR_EMULATE_PREPARES => false,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
    ]);
}

function query(PDO $database, string $sql, array $values = []): PDOStatement
{
    $query = $database->prepare($sql);
    $query->execute($values);
    return $query;
}
