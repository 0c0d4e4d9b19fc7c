-- The second line of defence: even a wrong statement can not sell a seat twice or lose a payment.
-- Times are milliseconds since 1970. Every constraint is broken on purpose in tests/constraints_refuse.rs.

CREATE TABLE seats (
    seat_id    TEXT    NOT NULL PRIMARY KEY,
    state      TEXT    NOT NULL DEFAULT 'free',
    version    INTEGER NOT NULL DEFAULT 0,
    owner      TEXT,
    hold_id    INTEGER,    -- the version that the hold made
    expires    INTEGER,    -- live while now < expires
    payment_id TEXT,
    changed_at INTEGER NOT NULL,

    CONSTRAINT seat_id_length CHECK (octet_length(seat_id) BETWEEN 1 AND 64),
    CONSTRAINT changed_at_range CHECK (changed_at BETWEEN 0 AND 253402300799999),
    CONSTRAINT state_and_its_columns CHECK (
        CASE state
            WHEN 'free' THEN version <> 1 AND version >= 0
                AND owner IS NULL AND hold_id IS NULL AND expires IS NULL AND payment_id IS NULL
            WHEN 'held' THEN version >= 1
                AND owner IS NOT NULL AND hold_id IS version AND payment_id IS NULL
                AND expires IS NOT NULL AND expires > changed_at AND expires <= 253402300799999
            WHEN 'sold' THEN version >= 2
                AND owner IS NOT NULL AND hold_id IS version - 1 AND expires IS NULL
                AND payment_id IS NOT NULL
            ELSE 0
        END)
) STRICT, WITHOUT ROWID;

-- seq makes the order of decisions durable: VACUUM may renumber a rowid that has no name.
CREATE TABLE payments (
    seq        INTEGER NOT NULL PRIMARY KEY,
    payment_id TEXT    NOT NULL UNIQUE,
    seat_id    TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    hold_id    INTEGER NOT NULL,
    decision   TEXT    NOT NULL,
    reason     TEXT,
    version    INTEGER NOT NULL,    -- of the seat: made by a sale, or seen by a refund
    decided_at INTEGER NOT NULL,

    CONSTRAINT payment_id_length CHECK (octet_length(payment_id) BETWEEN 1 AND 64),
    CONSTRAINT decided_at_range CHECK (decided_at BETWEEN 0 AND 253402300799999),
    CONSTRAINT decision_and_its_reason CHECK (
        CASE decision
            WHEN 'sold' THEN reason IS NULL AND hold_id >= 1 AND version IS hold_id + 1
            WHEN 'refund_required' THEN CASE reason
                WHEN 'unknown_seat' THEN version IS 0 AND hold_id >= 0
                WHEN 'never_held'   THEN version BETWEEN 0 AND hold_id
                WHEN 'already_sold' THEN version IS hold_id + 1
                WHEN 'superseded'   THEN hold_id >= 0 AND version > hold_id
                WHEN 'wrong_owner'  THEN hold_id >= 1 AND version IS hold_id
                WHEN 'expired'      THEN hold_id >= 1 AND version IS hold_id
                ELSE 0
            END
            ELSE 0
        END)
) STRICT;

CREATE UNIQUE INDEX one_sale_per_seat ON payments (seat_id) WHERE decision = 'sold';

CREATE INDEX refunds_due ON payments (seq) WHERE decision = 'refund_required';

-- Each change counts, and sold is final.
CREATE TRIGGER seat_changes_one_version_at_a_time BEFORE UPDATE ON seats
    WHEN new.version IS NOT old.version + 1 OR new.seat_id IS NOT old.seat_id
        OR new.changed_at < old.changed_at
BEGIN
    SELECT raise(ABORT, 'a seat keeps its id, its version grows by one, its time does not fall');
END;

CREATE TRIGGER sold_seat_is_final BEFORE UPDATE ON seats WHEN old.state = 'sold'
BEGIN
    SELECT raise(ABORT, 'a sold seat does not change');
END;

CREATE TRIGGER seat_starts_free BEFORE INSERT ON seats WHEN new.state <> 'free' OR new.version <> 0
BEGIN
    SELECT raise(ABORT, 'a new seat is free, at version 0');
END;

CREATE TRIGGER seat_is_for_ever BEFORE DELETE ON seats
BEGIN
    SELECT raise(ABORT, 'a seat is never removed');
END;

-- A sale is recorded after its seat was sold, in the same transaction.
CREATE TRIGGER sale_matches_its_seat BEFORE INSERT ON payments
    WHEN new.decision = 'sold' AND NOT EXISTS (
        SELECT 1 FROM seats
         WHERE seat_id = new.seat_id AND state = 'sold' AND payment_id = new.payment_id
           AND owner = new.owner AND hold_id = new.hold_id AND version = new.version)
BEGIN
    SELECT raise(ABORT, 'a sale is recorded for a seat that it bought');
END;

-- A decision about a payment is made once and kept for ever.
CREATE TRIGGER payment_is_final BEFORE UPDATE ON payments
BEGIN
    SELECT raise(ABORT, 'a payment record does not change');
END;

CREATE TRIGGER payment_is_for_ever BEFORE DELETE ON payments
BEGIN
    SELECT raise(ABORT, 'a payment record is never removed');
END;
