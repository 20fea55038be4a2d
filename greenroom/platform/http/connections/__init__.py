"""Accepting connections, limiting their rate, and checking request heads."""
