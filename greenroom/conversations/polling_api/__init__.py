"""The polling API at `/messages`: a second, simpler API to the same threads."""
