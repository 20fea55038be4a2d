"""Measures the capacity units of each operation of the DynamoDB store, item by item."""
