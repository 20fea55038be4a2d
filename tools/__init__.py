"""Programs behind `make` targets: screenshots, Lighthouse, limits, tests at other times.

Tests and the bench also use this package to find Chromium, to build the web app and to run the
demo.
"""
