"""The catalogue of card types: reads, checks and serves the files in `../types/`."""
