"""The admission plugins that a real API server has on by default."""
