-- Whole numbers as keys, so that each is the rowid.
CREATE TABLE rooms (
    id INTEGER PRIMARY KEY
);
-- In the order of its key, so that the check of a member descends one tree.
CREATE TABLE members (
    room INTEGER NOT NULL,
    member INTEGER NOT NULL,
    PRIMARY KEY (room, member)
) WITHOUT ROWID;
-- A message's id is the next after the greatest; no second index, as the published tables have none.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    room INTEGER NOT NULL,
    connection INTEGER NOT NULL,
    "index" INTEGER NOT NULL,
    body TEXT NOT NULL
);
