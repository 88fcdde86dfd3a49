INSERT INTO accounts (id, balance)
WITH RECURSIVE numbers (id) AS (
    SELECT 0 WHERE :accounts > 0
    UNION ALL
    SELECT id + 1 FROM numbers WHERE id + 1 < :accounts
)
SELECT id, :initial_balance FROM numbers;
