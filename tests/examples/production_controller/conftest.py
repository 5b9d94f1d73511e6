"""The small world of the sample's tests, for the program that runs it in production."""

from tests.e2e.conftest import client, server

__all__ = ["client", "server"]
