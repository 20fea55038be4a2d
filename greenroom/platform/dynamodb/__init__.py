"""DynamoDB, without an SDK: a call costs a fifth of what the usual client takes of the processor.

`table.py` is what stores use: items are plain dicts, keys are pairs of strings. It stands on
`client.py` (retries and errors), that on `transport.py` (HTTP and signatures). `schema.py` makes
the table, `embedded.py` runs an engine on this machine, `opening.py` turns settings into a client.
"""
