"""The OpenAPI document and the reference page at `/docs`."""
