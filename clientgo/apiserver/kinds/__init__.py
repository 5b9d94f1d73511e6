"""The built-in kinds: their resources and strategies."""
