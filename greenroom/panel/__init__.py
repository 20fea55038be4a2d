"""The project panel: what a thread's contract looks like, tab by tab."""
