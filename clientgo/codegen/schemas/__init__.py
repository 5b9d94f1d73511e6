"""From a Python type to its OpenAPI schema, with its constraints, defaults and descriptions."""
