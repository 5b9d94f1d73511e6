"""Fields of the API get the Python names that a reader expects."""

from __future__ import annotations

import pytest

from clientgo.codegen.names import attribute_name, camel_case


@pytest.mark.parametrize(
    ("wire", "attribute"),
    [
        ("replicas", "replicas"),
        ("clusterIP", "cluster_ip"),
        ("podIPs", "pod_ips"),
        ("hostIPC", "host_ipc"),
        ("nonResourceURLs", "non_resource_urls"),
        ("serverAddressByClientCIDRs", "server_address_by_client_cidrs"),
        ("insecureSkipTLSVerify", "insecure_skip_tls_verify"),
        ("openAPIV3Schema", "open_api_v3_schema"),
        ("fieldsV1", "fields_v1"),
        ("$ref", "ref"),
        ("x-kubernetes-int-or-string", "x_kubernetes_int_or_string"),
        ("from", "from_"),
        ("field", "field_"),
        ("Port", "port"),
    ],
)
def test_a_name_is_split_where_a_reader_would(wire: str, attribute: str) -> None:
    assert attribute_name(wire) == attribute


def test_a_name_without_letters_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'\$'"):
        attribute_name("$")


def test_camel_case_is_what_rename_camel_gives() -> None:
    from clientgo.meta import Model

    class Sample(Model):
        host_ip: str = ""
        from_: str = ""
        fields_v1: str = ""

    assert tuple(map(camel_case, Sample.__struct_fields__)) == Sample.__struct_encode_fields__
