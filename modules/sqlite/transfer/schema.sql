-- The key is the rowid: a lookup descends one tree, and an update rewrites the row in place.
CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    balance INTEGER NOT NULL
);
