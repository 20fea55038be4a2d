"""PostgreSQL and a DynamoDB engine that run on this machine without being installed."""
