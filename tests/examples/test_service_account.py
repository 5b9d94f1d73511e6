"""The example of service accounts and RBAC prints what its page shows."""

from __future__ import annotations

from tests.examples.running import ROOT, printed_by

PAGE = (ROOT / "docs" / "testing" / "apiserver-rbac.md").read_text()
COMMAND = "python examples/service_account.py"


def test_the_example_prints_what_the_page_shows() -> None:
    lines = printed_by("service_account.py")

    assert lines == [
        "pods: 0",
        'deployments.apps "web" is forbidden: User "system:serviceaccount:demo:robot" cannot patch '
        'resource "deployments" in API group "apps" in the namespace "demo"',
        "would need: patch deployments in apps, namespace demo",
        'with that rule: deployments.apps "web" not found',
        "without its account: Unauthorized",
    ]
    shown = "\n".join(lines)
    assert f"$ {COMMAND}\n{shown}\n" in PAGE
