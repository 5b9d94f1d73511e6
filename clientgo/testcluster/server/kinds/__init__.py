"""The built-in kinds: their resources, strategies and columns."""
