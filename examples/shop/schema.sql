-- What the shop itself keeps. The orders' tables are those of seckill orders: it makes them.
-- Names of accounts may look alike to a database and be different bytes to Redis ("Bob", "bob"),
-- so the sale knows people by the number of their account.
CREATE TABLE IF NOT EXISTS accounts (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(40) CHARACTER SET utf8mb4 NOT NULL UNIQUE,
    password VARCHAR(255) NOT NULL,
    operator BOOLEAN NOT NULL DEFAULT FALSE);

-- One row for each order that somebody began to pay. state: BEGUN, PAID, REFUNDED.
CREATE TABLE IF NOT EXISTS payments (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    item VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    account BIGINT UNSIGNED NOT NULL,
    req CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    fen BIGINT UNSIGNED NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'BEGUN',
    UNIQUE KEY (account, item, req));

-- The payment service, which is another company's: it has a database of its own.
CREATE DATABASE IF NOT EXISTS bank;
CREATE TABLE IF NOT EXISTS bank.trades (
    payment BIGINT UNSIGNED PRIMARY KEY,
    fen BIGINT UNSIGNED NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL);
