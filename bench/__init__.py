"""Benchmarks. Results are ratios to limits that are measured in the same run."""
