"""One feed, four transports: poll, long-poll, SSE and WebSocket."""
