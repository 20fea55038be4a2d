"""Money: the ledger, the port to the payment provider, its adapters, and settling."""
