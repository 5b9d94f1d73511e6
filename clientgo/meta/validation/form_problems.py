"""Why a text does not have a form, with examples and the pattern.

Upstream: ``RegexError`` in k8s.io/apimachinery/pkg/api/validate/content.
"""

from __future__ import annotations


def form_problem(rule: str, pattern: str, *examples: str) -> str:
    """Return a rule with examples of texts that keep it, and its pattern."""
    shown = ",  or ".join(f"'{example}'" for example in examples)
    return f"{rule} (e.g. {shown}, regex used for validation is '{pattern}')"
