"""Typing and presence in DynamoDB."""
