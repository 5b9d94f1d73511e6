"""Nodes, leases, limits and certificate requests."""
