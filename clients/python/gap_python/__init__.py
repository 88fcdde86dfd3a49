"""A load generator in Python that keeps ``clients/CONTRACT.md``."""

NAME = "gap-python"
VERSION = "0.2.0"
CONTRACT_VERSION = 2
