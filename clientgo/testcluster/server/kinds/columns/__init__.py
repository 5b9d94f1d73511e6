"""The columns of built-in kinds in Tables."""
