"""Built-in admission and admission webhooks."""
