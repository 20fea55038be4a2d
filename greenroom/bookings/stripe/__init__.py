"""Stripe as the payment provider. Needs the optional packages of the extra `stripe`."""
