"""Load clients: what they are told, what they report, and what they reach against a server that does nothing."""
