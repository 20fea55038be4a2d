"""Blobs in S3, or in an engine that speaks its protocol."""
