"""From a path to a verb and its response."""
