"""The lessons, in the order in which they are taught."""
