"""Stored runs: what they hold, checked as it is written and again as it is read.

Knows the files of a run, and nothing of what made them or of what is said of them.
"""
