"""Imports people, threads and messages of another system. docs/import.md has the format."""
