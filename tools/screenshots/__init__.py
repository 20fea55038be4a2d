"""Pictures of every page and of the states that matter, into docs/images.

`scenes.py` lists them, `poses.py` brings a page into a state, `camera.py` takes the picture.
"""
