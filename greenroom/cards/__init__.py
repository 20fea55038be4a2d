"""Action cards: messages with states and actions. `types/` has one file per type of card."""
