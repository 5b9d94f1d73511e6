"""``format.<name>().validate(text)`` gives the messages of Kubernetes."""

from __future__ import annotations

import pytest

from clientgo.testcluster.cel import Environment

NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("call", "problems"),
    [
        ("dns1123Label().validate('a-b')", []),
        ("dns1123Label().validate('A')", [LABEL_RULE]),
        ("dns1123Label().validate('a-')", [LABEL_RULE]),
        ("dns1123LabelPrefix().validate('a-')", []),
        ("dns1123SubdomainPrefix().validate('my.prefix.-')", []),
        ("dns1035Label().validate('a1')", []),
        (f"dns1123Label().validate('{'a' * 64}')", ["must be no more than 63 characters"]),
        ("qualifiedName().validate('apiextensions.k8s.io/v1')", []),
        (
            "qualifiedName().validate('/')",
            [
                "prefix part must be non-empty",
                "name part must be non-empty",
                f"name part {NAME_RULE}",
            ],
        ),
        (
            "qualifiedName().validate('a/b/c')",
            [
                f"a qualified name {NAME_RULE} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
        ),
        (f"labelValue().validate('{'a' * 64}')", ["must be no more than 63 bytes"]),
        ("labelValue().validate('')", []),
        ("uri().validate('http://example.com')", []),
        ("uuid().validate('x')", ["does not match the UUID format"]),
        ("byte().validate('!')", ["invalid base64"]),
        ("date().validate('x')", ["invalid date"]),
        ("datetime().validate('2021-01-01T00:00:00Z')", []),
        ("datetime().validate('x')", ["invalid datetime"]),
    ],
)
def test_validates(call: str, problems: list[str]) -> None:
    program = Environment({}).compile(f"format.{call}.orValue([])")

    assert program.evaluate({}) == problems
