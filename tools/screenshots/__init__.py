"""Takes pictures of every page and of important states, into docs/images.

`scenes.py` lists them, `poses.py` brings a page into a state, `camera.py` takes the picture.
"""
