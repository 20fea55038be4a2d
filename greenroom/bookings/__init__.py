"""Bookings and money: the contract's source of truth, always in PostgreSQL."""
