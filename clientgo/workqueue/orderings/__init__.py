"""Which of the items that are ready is next."""
