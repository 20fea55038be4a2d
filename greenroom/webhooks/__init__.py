"""Domain events for other systems: webhooks of the marketplace's backend, and EventBridge."""
