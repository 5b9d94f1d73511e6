"""What a user may do: the interface that the server asks, and RBAC behind it."""
