"""Measurements, as ratios in one run against named limits."""
