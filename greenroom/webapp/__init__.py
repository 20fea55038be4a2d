"""The web app: its built files, served from memory."""
