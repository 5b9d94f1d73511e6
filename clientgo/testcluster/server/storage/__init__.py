"""Objects, their history and the resource version; on disk if a data directory is given."""
