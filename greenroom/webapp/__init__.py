"""Serves the built files of the web app from memory."""
