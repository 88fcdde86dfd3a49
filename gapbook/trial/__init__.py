"""Measuring: a scenario run by its plan, each trial loaded, audited and judged, all of it written down.

Knows servers and clients, and nothing of what is later said of their numbers.
"""
