"""Published claims and the verdicts on them, by rules that were fixed before the runs."""
