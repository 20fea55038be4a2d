"""Inbox pages, messages, feeds and pair conversations, read from the table."""
