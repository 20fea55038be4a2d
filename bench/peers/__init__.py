"""Greenroom beside two well-known servers, under one load, in one run."""
