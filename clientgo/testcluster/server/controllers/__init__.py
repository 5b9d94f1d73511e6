"""What follows from a write: definitions, garbage collection, namespace deletion."""
