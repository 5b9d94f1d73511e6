"""Where objects are kept and read: keys, indexes, the indexer, listers."""
