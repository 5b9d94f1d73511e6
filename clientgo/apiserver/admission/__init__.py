"""Admit or refuse a write: namespace life cycle and webhooks."""
