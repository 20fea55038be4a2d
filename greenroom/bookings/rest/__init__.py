"""Calls about bookings and payments, and what clients see of them."""
