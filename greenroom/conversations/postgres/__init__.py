"""The conversation store on PostgreSQL."""
