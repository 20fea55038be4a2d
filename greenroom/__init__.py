"""Greenroom: the messaging and collaboration server of a two-sided marketplace."""

__version__ = "0.1.0"
