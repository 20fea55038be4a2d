"""Subclasses of uvicorn's internal classes. Written against uvicorn 0.54 and websockets 17.

These classes are not uvicorn's public interface, so pyproject.toml bounds both versions. Read the
base classes again before you raise a bound.
"""
