"""The supervisor of worker processes, and handling of SIGTERM."""
