"""Keys and attributes of the items in the table. Pure."""
