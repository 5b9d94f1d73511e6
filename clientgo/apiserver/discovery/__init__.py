"""Answer discovery and OpenAPI."""
