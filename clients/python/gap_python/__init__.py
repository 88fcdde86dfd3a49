"""A load generator in Python that keeps ``clients/CONTRACT.md``."""

NAME = "gap-python"
VERSION = "0.1.0"
CONTRACT_VERSION = 1
