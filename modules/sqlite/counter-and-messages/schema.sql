-- The key of counters is the rowid: an increment descends one tree and rewrites the row in place.
CREATE TABLE counters (
    id INTEGER PRIMARY KEY,
    value INTEGER NOT NULL
);
-- A message is stored once: a table in the order of arrival and an index over its identity.
CREATE TABLE messages (
    connection INTEGER NOT NULL,
    "index" INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (connection, "index")
);
