SELECT id, balance FROM accounts ORDER BY id;
