"""Who is typing and who is online: told to those who watch a thread, kept for seconds."""
