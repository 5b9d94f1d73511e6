"""Checks of values against a schema, except for rules in CEL."""
