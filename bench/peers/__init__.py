"""Compares Greenroom with two well-known servers, under the same load, in one run."""
