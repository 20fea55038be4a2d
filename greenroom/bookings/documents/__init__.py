"""Documents to sign, and manifests of deliverables that are stored elsewhere."""
