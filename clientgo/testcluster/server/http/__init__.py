"""The HTTP server, requests and responses, bodies, media types."""
