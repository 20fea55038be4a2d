"""Calendars: a leg as an iCalendar file, and a private address per person."""
