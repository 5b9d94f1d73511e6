"""Read requests and write responses: the protocol, media types, bodies."""
