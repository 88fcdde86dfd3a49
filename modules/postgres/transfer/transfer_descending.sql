-- transfer() with its two rows locked in descending id order, and nothing else changed. This workload's hot accounts
-- have the low ids, so the contended lock is waited for last and held shortest.
CREATE OR REPLACE FUNCTION transfer_descending(source int4, destination int4, amount int4) RETURNS int4
LANGUAGE plpgsql AS $$
BEGIN
    IF (amount > 0) IS NOT TRUE THEN
        RAISE EXCEPTION 'amount must be at least 1, not %', amount USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (source <> destination) IS NOT TRUE THEN
        RAISE EXCEPTION 'source and destination must be two accounts, not % and %', source, destination
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    IF source > destination THEN
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
