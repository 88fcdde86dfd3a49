-- Rows written so far by transfers that write two each, and transfers that batches say they made.
SELECT (SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'accounts')
     - (SELECT coalesce(sum(rows_written), 0)::int8 FROM batches) AS rows_written,
       (SELECT coalesce(sum(transfers), 0)::int8 FROM batches) AS operations;
