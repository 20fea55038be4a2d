"""The sample's pictures, voice note and documents, all made by this code when the sample is loaded.

The same name always gives the same bytes.
"""
