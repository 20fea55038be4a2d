"""Delivers each person's feed over poll, long-poll, server-sent events and WebSocket."""
