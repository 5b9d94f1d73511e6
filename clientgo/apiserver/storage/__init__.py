"""Keep objects and their history: in memory, and on disk if a data directory is given."""
