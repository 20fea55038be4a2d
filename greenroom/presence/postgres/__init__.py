"""Typing and presence in PostgreSQL."""
