"""Checks, repairs, exports, erasure and retention on DynamoDB."""
