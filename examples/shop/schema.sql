-- What the shop itself keeps. The orders' tables are those of seckill orders.
-- Names of accounts may look alike to a database and be different bytes to Redis ("Bob", "bob"),
-- so the sale knows people by the number of their account.
CREATE DATABASE IF NOT EXISTS shop CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
USE shop;
CREATE TABLE IF NOT EXISTS accounts (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(40) NOT NULL UNIQUE,
    password VARCHAR(255) NOT NULL,
    operator BOOLEAN NOT NULL DEFAULT FALSE);

-- Passwords that were tried of late, by name and address.
CREATE TABLE IF NOT EXISTS tries (
    name VARCHAR(40) NOT NULL,
    address VARCHAR(45) CHARACTER SET ascii NOT NULL,
    at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    KEY (name, address), KEY (at));

-- One row for each order that somebody began to pay; `sale` is the id of its sale, as STATUS tells it.
-- state: BEGUN, the bill was written. PAID, the money is taken and the order is theirs. REFUND, the money
-- is to go back, REFUNDED, it went. LAPSED, the bill was not paid and can't be any more.
-- `taken`: the bank says that it has the money. `due_at`: when the bank is asked about it next.
CREATE TABLE IF NOT EXISTS payments (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    sale CHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    item VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    account BIGINT UNSIGNED NOT NULL,
    req CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    fen BIGINT UNSIGNED NOT NULL,
    until BIGINT UNSIGNED NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'BEGUN',
    taken BOOLEAN NOT NULL DEFAULT FALSE,
    begun TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    due_at TIMESTAMP NOT NULL DEFAULT (CURRENT_TIMESTAMP + INTERVAL 10 SECOND),
    UNIQUE KEY (sale, account, req), KEY (state, taken), KEY (state, due_at));

-- What the numbers of a numbered sale stand for, where it is a code. One that was given to a sale (its id, as
-- STATUS tells it) is that sale's for good, and the number's that it got there.
CREATE TABLE IF NOT EXISTS codes (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    item VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    code VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sale CHAR(16) CHARACTER SET ascii COLLATE ascii_bin,
    unit BIGINT UNSIGNED,
    UNIQUE KEY (item, code), UNIQUE KEY (sale, unit), KEY (item, sale));

-- The payment service, which is another company's: it has a database of its own. state: PAID, REFUNDED.
-- `told` counts how often the shop has said that it knows of the payment.
CREATE DATABASE IF NOT EXISTS bank;
CREATE TABLE IF NOT EXISTS bank.trades (
    payment BIGINT UNSIGNED PRIMARY KEY,
    fen BIGINT UNSIGNED NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    told TINYINT UNSIGNED NOT NULL DEFAULT 0,
    tries TINYINT UNSIGNED NOT NULL DEFAULT 0,
    tell_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    KEY (tell_at));
