"""Manifests from an operator's code: definitions, roles, webhooks, Deployment and samples."""
