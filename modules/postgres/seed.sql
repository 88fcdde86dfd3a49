-- TRUNCATE gives the tables and their index new files, so no version of an earlier trial's rows survives.
-- Run VACUUM (FREEZE, ANALYZE) accounts afterwards: it cannot run inside a function, and without it
-- autovacuum would do the same work inside the measured window.
CREATE OR REPLACE FUNCTION seed(accounts int4, initial_balance int8) RETURNS void
LANGUAGE sql AS $$
    TRUNCATE accounts, batches;
    INSERT INTO accounts (id, balance)
        SELECT id, initial_balance FROM generate_series(0, accounts - 1) AS id;
$$;
