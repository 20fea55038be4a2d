"""The event log: what has happened, in one order, for other programs to read at their own pace."""
