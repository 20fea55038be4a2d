"""Sniffs, scans, decodes and re-encodes uploaded files, in a process with limits.

`job.py` has what goes in and what comes out, `process.py` runs it. Everything that touches bytes of
an upload runs in a process of its own for each file (`python -m greenroom.files.media`).
"""
