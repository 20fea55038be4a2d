EVENT_TYPES = frozenset({"message.send", "message.edit", "thread.create", "leg.confirmed"})
