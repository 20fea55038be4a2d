"""How a change is built, committed with an outbox record, and projected to each person."""
