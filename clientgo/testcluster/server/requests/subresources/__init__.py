"""Requests to subresources: what each of them does."""
