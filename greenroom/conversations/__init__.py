"""Threads, participants, messages, receipts, inbox, feed, blocks: the hot path."""
