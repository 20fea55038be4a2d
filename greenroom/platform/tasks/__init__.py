"""Work that a transaction decides on and a worker does later."""
