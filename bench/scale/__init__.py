"""Which limits are reached as messages grow from a thousand to a thousand million a day."""
