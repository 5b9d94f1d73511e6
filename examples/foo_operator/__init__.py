"""The sample controller, on the operator layer."""
