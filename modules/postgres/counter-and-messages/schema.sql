-- fillfactor 50 leaves room on every page for the next version of each of its rows, so that increments stay HOT:
-- they touch no index, and the next reader of the page prunes the dead versions instead of waiting for vacuum.
CREATE TABLE IF NOT EXISTS counters (
    id int4 PRIMARY KEY,
    value int8 NOT NULL
) WITH (fillfactor = 50);

-- A message is stored once: a table in the order of arrival and an index over its identity.
CREATE TABLE IF NOT EXISTS messages (
    connection int4 NOT NULL,
    index int8 NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (connection, index)
);
