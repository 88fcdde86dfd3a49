"""Fault points of the harness itself: a tiny run, one fault at a random moment of a known phase, and what is left.

``make faults`` plays them; CONTRIBUTING.md says how their table is read.
"""
