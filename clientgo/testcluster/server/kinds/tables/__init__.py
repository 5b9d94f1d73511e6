"""The defaults, validation and immutability of built-in kinds, as tables."""
