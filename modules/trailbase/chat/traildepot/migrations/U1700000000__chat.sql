-- The tables of the chat and its two users.
INSERT INTO _user (id, email, password_hash, verified) VALUES
  (X'01940000000070008000000000000001', 'sender@example.com', (hash_password('a secret of no worth')), TRUE),
  (X'01940000000070008000000000000002', 'stranger@example.com', (hash_password('a secret of no worth')), TRUE);

CREATE TABLE rooms (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;

CREATE TABLE members (
  user BLOB NOT NULL,
  room INTEGER NOT NULL,
  FOREIGN KEY(user) REFERENCES _user(id) ON DELETE CASCADE,
  FOREIGN KEY(room) REFERENCES rooms(id) ON DELETE CASCADE
) STRICT;

CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  owner BLOB NOT NULL,
  room INTEGER NOT NULL,
  connection INTEGER NOT NULL,
  "index" INTEGER NOT NULL,
  body TEXT NOT NULL,
  FOREIGN KEY(owner) REFERENCES _user(id) ON DELETE CASCADE,
  FOREIGN KEY(room) REFERENCES rooms(id) ON DELETE CASCADE
) STRICT;
