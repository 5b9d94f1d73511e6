"""Answer API requests: from the path to the verb and its response."""
