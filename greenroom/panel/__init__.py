"""The project panel of a thread: overview, expenses, documents and open cards."""
