"""Used by every room: ids, clock, money, text, limits, errors. Standard library only."""
