"""Checks of a schema itself: is it structural, and are its keywords supported."""
