"""Decide who a client is."""
