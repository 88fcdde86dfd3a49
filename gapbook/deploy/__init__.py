"""Servers and programs: how they are built, found, started, watched and ended, leaving nothing behind.

Knows processes and folders, and nothing of load, trials or statistics.
"""
