"""What `make browser`, `make screenshots` and `make lighthouse` run.

Tests and the bench find Chromium, the built web app and the sample's server here too.
"""
