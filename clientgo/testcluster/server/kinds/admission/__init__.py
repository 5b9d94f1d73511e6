"""Kinds that admission reads: webhook configurations and admission policies."""
