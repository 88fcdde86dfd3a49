"""Statistics over stored runs: estimates, factors and what they rest on.

Reads records only: what ran the servers is out of its sight.
"""
