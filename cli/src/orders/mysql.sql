-- What seckill orders keeps, for MariaDB 10.11 and MySQL 9.7. Users, request ids and names of keys are bytes and
-- are compared byte by byte. An engine without transactions could lose an order.

CREATE TABLE IF NOT EXISTS @sales (
    id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
    name BLOB NOT NULL,
    stream VARBINARY(1024) NOT NULL,
    KEY (stream)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS @epochs (
    id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin,
    epoch BIGINT UNSIGNED,
    first_rev BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (id, epoch)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS @entries (
    id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin,
    epoch BIGINT UNSIGNED,
    rev BIGINT UNSIGNED,
    event VARCHAR(32) NOT NULL,
    born BIGINT UNSIGNED,
    seq BIGINT UNSIGNED,
    PRIMARY KEY (id, epoch, rev),
    KEY (id, born, seq)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS @orders (
    id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin,
    born BIGINT UNSIGNED,
    seq BIGINT UNSIGNED,
    user_id VARBINARY(256) NOT NULL,
    qty BIGINT UNSIGNED NOT NULL,
    asked BIGINT UNSIGNED NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    at BIGINT UNSIGNED NOT NULL,
    deadline BIGINT UNSIGNED NOT NULL,
    req VARBINARY(128) NOT NULL,
    epoch BIGINT UNSIGNED NOT NULL,
    rev BIGINT UNSIGNED NOT NULL,
    lost BOOLEAN NOT NULL DEFAULT FALSE,
    units VARCHAR(1024) CHARACTER SET ascii COLLATE ascii_bin,
    PRIMARY KEY (id, born, seq),
    KEY (id, user_id, req),
    KEY (lost, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS @units (
    id CHAR(16) CHARACTER SET ascii COLLATE ascii_bin,
    number BIGINT UNSIGNED,
    born BIGINT UNSIGNED NOT NULL,
    seq BIGINT UNSIGNED NOT NULL,
    state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    epoch BIGINT UNSIGNED NOT NULL,
    rev BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (id, number),
    KEY (id, born, seq)
) ENGINE = InnoDB;

-- What Redis still knows: entries that no later epoch has disowned.
CREATE OR REPLACE VIEW @kept AS
SELECT * FROM @entries AS e WHERE NOT EXISTS (
    SELECT 1 FROM @epochs AS p
    WHERE p.id = e.id AND p.epoch > e.epoch AND p.first_rev <= e.rev
);
