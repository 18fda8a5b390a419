-- The shop's own tables. The tables of orders are made by seckill orders.
-- A database may treat names as equal that are different bytes for Redis ("Bob", "bob"). So users of the
-- sale are account numbers.
CREATE DATABASE IF NOT EXISTS shop CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci;
USE shop;
CREATE TABLE IF NOT EXISTS accounts (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(40) NOT NULL UNIQUE,
    password VARCHAR(255) NOT NULL,
    operator BOOLEAN NOT NULL DEFAULT FALSE);

-- Recent login attempts, by name and address.
CREATE TABLE IF NOT EXISTS tries (
    name VARCHAR(40) NOT NULL,
    address VARCHAR(45) CHARACTER SET ascii NOT NULL,
    at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    KEY (name, address), KEY (at));

-- One row for each order with a bill; `sale` is the id of its sale, from STATUS.
-- state: BEGUN, the bill was written. PAID, the order is paid and sold. REFUND, the money must be refunded.
-- REFUNDED, it was refunded. LAPSED, the bill was not paid in time.
-- `taken`: the bank has the money. `due_at`: time of the next question to the bank.
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

-- The codes for the numbers of a numbered sale. A code that was assigned to a sale (its id, from STATUS) and a
-- number stays assigned.
CREATE TABLE IF NOT EXISTS codes (
    id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    item VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    code VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sale CHAR(16) CHARACTER SET ascii COLLATE ascii_bin,
    unit BIGINT UNSIGNED,
    UNIQUE KEY (item, code), UNIQUE KEY (sale, unit), KEY (item, sale));

-- The payment service: another company with its own database. state: PAID, REFUNDED. `told` is the number of
-- "success" answers of the shop about the payment.
CREATE DATABASE IF NOT EXISTS bank;
CREATE TABLE IF NOT EXISTS bank.trades (
    payment BIGINT UNSIGNED PRIMARY KEY,
    fen BIGINT UNSIGNED NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    told TINYINT UNSIGNED NOT NULL DEFAULT 0,
    tries TINYINT UNSIGNED NOT NULL DEFAULT 0,
    tell_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    KEY (tell_at));
