"""HTTP: endpoints as data, the ASGI app that serves them, and the OpenAPI document of them."""
