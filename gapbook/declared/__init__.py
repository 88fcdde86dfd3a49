"""Declarations: what the TOML files of a checkout may say, each kind as a struct, read by one loader.

Every field is declared once: its type, whether it is required, and its default. A key that no struct has is refused.
"""
