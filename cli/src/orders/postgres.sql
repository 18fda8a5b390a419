-- What seckill orders keeps, for PostgreSQL 15. Users, request ids and names of keys are bytes.

-- Writers that begin at once make the tables one after the other.
SELECT pg_advisory_xact_lock(hashtext('seckill orders'));

CREATE TABLE IF NOT EXISTS @sales (
    id TEXT PRIMARY KEY,
    name BYTEA NOT NULL,
    stream BYTEA NOT NULL
);
CREATE INDEX IF NOT EXISTS #sales_stream ON @sales (stream);

CREATE TABLE IF NOT EXISTS @epochs (
    id TEXT,
    epoch BIGINT,
    first_rev BIGINT NOT NULL,
    PRIMARY KEY (id, epoch)
);

CREATE TABLE IF NOT EXISTS @entries (
    id TEXT,
    epoch BIGINT,
    rev BIGINT,
    event TEXT NOT NULL,
    born BIGINT,
    seq BIGINT,
    PRIMARY KEY (id, epoch, rev)
);
CREATE INDEX IF NOT EXISTS #entries_grant ON @entries (id, born, seq);

CREATE TABLE IF NOT EXISTS @orders (
    id TEXT,
    born BIGINT,
    seq BIGINT,
    user_id BYTEA NOT NULL,
    qty BIGINT NOT NULL,
    asked BIGINT NOT NULL,
    state TEXT NOT NULL,
    at BIGINT NOT NULL,
    deadline BIGINT NOT NULL,
    req BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    rev BIGINT NOT NULL,
    lost BOOLEAN NOT NULL DEFAULT FALSE,
    units TEXT,
    PRIMARY KEY (id, born, seq)
);
CREATE INDEX IF NOT EXISTS #orders_user ON @orders (id, user_id, req);
CREATE INDEX IF NOT EXISTS #orders_lost ON @orders (id) WHERE lost;

CREATE TABLE IF NOT EXISTS @units (
    id TEXT,
    number BIGINT,
    born BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    state TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    rev BIGINT NOT NULL,
    PRIMARY KEY (id, number)
);
CREATE INDEX IF NOT EXISTS #units_order ON @units (id, born, seq);

-- What Redis still knows: entries that no later epoch has disowned.
CREATE OR REPLACE VIEW @kept AS
SELECT * FROM @entries AS e WHERE NOT EXISTS (
    SELECT 1 FROM @epochs AS p
    WHERE p.id = e.id AND p.epoch > e.epoch AND p.first_rev <= e.rev
);
