"""Verification of people's tokens (JWT), with a shared secret or published keys (JWKS)."""
