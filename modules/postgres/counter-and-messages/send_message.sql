-- Stores a message and returns 1; one that is there already is an error.
CREATE OR REPLACE FUNCTION send_message(connection int4, index int8, body text) RETURNS int4
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO messages VALUES (connection, index, body);
    RETURN 1;
END
$$;
