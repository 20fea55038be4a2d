"""Bookings and money: what buyer and seller have agreed. Always in PostgreSQL."""
