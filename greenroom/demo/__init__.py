"""The sample marketplace that `greenroom demo` loads, and the calls that only the demo has."""
