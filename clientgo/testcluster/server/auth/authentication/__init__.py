"""Who a client is, by what it shows: tokens and certificates."""
