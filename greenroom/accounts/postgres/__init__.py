"""Accounts in PostgreSQL."""
