"""An operator for databases: dependents, an account at a service, webhooks, two versions."""
