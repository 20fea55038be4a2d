"""Who is typing and who is online: stored for seconds, sent to connections that watch a thread."""
