"""k6 as a load generator that keeps ``clients/CONTRACT.md``."""

NAME = "gap-k6"
LANGUAGE = "k6"
VERSION = "0.1.0"
CONTRACT_VERSION = 2
