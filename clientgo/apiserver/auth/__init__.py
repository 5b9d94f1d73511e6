"""Authentication; authorization belongs here."""
