"""Services and network policies."""
