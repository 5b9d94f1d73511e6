"""Connections, and one exchange of request and response over them."""
