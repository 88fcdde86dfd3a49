-- Rows written so far, one for each operation; none says itself how many it made.
SELECT (SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'counters')
     + (SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'messages') AS rows_written,
       0::int8 AS operations;
