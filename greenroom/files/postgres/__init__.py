"""The store of files on PostgreSQL."""
