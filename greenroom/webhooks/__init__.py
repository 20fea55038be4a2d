"""Webhooks: every event of the log, posted to the marketplace's backend."""
