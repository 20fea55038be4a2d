"""The catalogue of domain events: a JSON Schema with an example for each type."""

from greenroom.webhooks.catalogue.loading import TYPES

EVENT_TYPES = frozenset(path.stem for path in TYPES.glob("*.json"))
"""The name of every event that Greenroom emits."""
