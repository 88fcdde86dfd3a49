"""What a page shows of a stored run: charts, tables, sentences, citations, the command that repeats it."""
