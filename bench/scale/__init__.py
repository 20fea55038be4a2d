"""What gives way first as messages grow from a thousand to a thousand million a day."""
