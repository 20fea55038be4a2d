"""Action cards: messages with a machine behind them. The catalogue in `types/` is the machine."""
