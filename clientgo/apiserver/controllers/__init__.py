"""React to changes: garbage collection, namespace deletion, definitions."""
