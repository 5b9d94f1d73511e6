"""How a store is kept equal to the server: list, watch and what follows a failure."""
