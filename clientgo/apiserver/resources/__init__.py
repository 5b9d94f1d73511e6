"""Describe what is served: resources, the strategy of each, and the errors about them."""
