"""HTTP: endpoints as data, one ASGI app that serves them, one document that describes them."""
