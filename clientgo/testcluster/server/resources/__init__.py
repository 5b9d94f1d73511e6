"""What is served: resources and their names, the strategy of each, errors about them."""
