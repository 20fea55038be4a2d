"""A payment provider to try and test with. It moves no real money."""
