"""PostgreSQL: connecting, pools, migrations and functions, idempotency keys, rate limits."""
