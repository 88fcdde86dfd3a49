-- Adds an amount to a counter and returns 1; a counter that does not exist is an error.
-- The UPDATE locks, reads and writes its row at once, so that no increment is lost at any isolation level.
CREATE OR REPLACE FUNCTION increment_counter(counter int4, amount int4) RETURNS int4
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE counters SET value = value + amount WHERE id = counter;
    IF FOUND THEN
        RETURN 1;
    END IF;
    RAISE EXCEPTION 'counter % does not exist', counter USING ERRCODE = 'no_data_found';
END
$$;
