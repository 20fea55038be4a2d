"""What every room may lean on: ids, clock, limits, errors, events. Standard library only."""
