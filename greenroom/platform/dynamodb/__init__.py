"""A DynamoDB client without an SDK, because botocore takes five times as much processor time.

Stores use `table.py`: items are plain dicts, keys are pairs of strings. It uses `client.py`
(retries and errors), which uses `transport.py` (HTTP and signatures). `schema.py` creates the
table. `platform/embedded/dynamodb` runs an engine on this machine and turns settings into a client.
"""
