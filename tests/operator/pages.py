"""Asking a manager's servers."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

import urllib3


def ask(
    url: str, headers: Mapping[str, str] | None = None, context: ssl.SSLContext | None = None
) -> tuple[int, str]:
    """The status and the body of what is at ``url``."""
    with urllib3.PoolManager(ssl_context=context) as pool:
        answer = pool.request("GET", url, headers=dict(headers or {}), retries=False, timeout=30)
        return answer.status, answer.data.decode()
