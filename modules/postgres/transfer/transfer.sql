-- Moves amount from source to destination. 1 = transferred, 0 = insufficient funds; all else is an error.
--
-- Two UPDATEs in id order, so that of two crossing transfers one waits and none deadlocks. Each UPDATE locks,
-- checks and writes its row at once: under READ COMMITTED it waits for the holder of the row and tests the
-- balance again on the version that was committed. Locking both rows first (SELECT ... FOR NO KEY UPDATE) reads
-- simpler but visits and logs every row twice, and holds the hot row meanwhile: a third fewer transfers at
-- 50 connections with synchronous_commit off. The price is that the destination, when its id is lower, is
-- credited before the source is known to have the funds; the rare refusal takes the credit back, unseen by
-- others. Ascending order is convention, not tuning: descending was a quarter faster under high contention, but
-- only because this workload's hot accounts have the low ids, and a lock waited for last is held shortest.
CREATE OR REPLACE FUNCTION transfer(source int4, destination int4, amount int4) RETURNS int4
LANGUAGE plpgsql AS $$
BEGIN
    IF (amount > 0) IS NOT TRUE THEN
        RAISE EXCEPTION 'amount must be at least 1, not %', amount USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (source <> destination) IS NOT TRUE THEN
        RAISE EXCEPTION 'source and destination must be two accounts, not % and %', source, destination
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    IF source < destination THEN
        UPDATE accounts SET balance = balance - amount WHERE id = source AND balance >= amount;
        IF FOUND THEN
            UPDATE accounts SET balance = balance + amount WHERE id = destination;
            IF FOUND THEN
                RETURN 1;
            END IF;
            RAISE EXCEPTION 'account % does not exist', destination USING ERRCODE = 'no_data_found';
        END IF;
    ELSE
        UPDATE accounts SET balance = balance + amount WHERE id = destination;
        IF FOUND THEN
            UPDATE accounts SET balance = balance - amount WHERE id = source AND balance >= amount;
            IF FOUND THEN
                RETURN 1;
            END IF;
            UPDATE accounts SET balance = balance - amount WHERE id = destination;
        END IF;
    END IF;

    IF NOT EXISTS (SELECT FROM accounts WHERE id = source) THEN
        RAISE EXCEPTION 'account % does not exist', source USING ERRCODE = 'no_data_found';
    END IF;
    IF NOT EXISTS (SELECT FROM accounts WHERE id = destination) THEN
        RAISE EXCEPTION 'account % does not exist', destination USING ERRCODE = 'no_data_found';
    END IF;
    RETURN 0;
END
$$;
