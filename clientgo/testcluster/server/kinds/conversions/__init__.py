"""Kinds that are served in another form than the one that is stored."""
