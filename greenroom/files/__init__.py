"""Uploads, scanning, renditions and Safe-Mode."""
