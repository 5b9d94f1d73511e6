"""Which proxy a server is reached through: each case says what Go answers."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from clientgo.rest import ConfigError, RestConfig
from clientgo.rest.config.proxies import checked_proxy, proxy_for

PROXY = "http://p:3128"
DIRECT = ""


@pytest.mark.parametrize(
    ("server", "environ", "proxy_in_go"),
    [
        ("https://kube.example.com", {}, DIRECT),
        ("https://kube.example.com", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://kube.example.com", {"https_proxy": PROXY}, PROXY),
        ("https://kube.example.com", {"HTTPS_PROXY": PROXY, "https_proxy": "http://q:1"}, PROXY),
        ("https://kube.example.com", {"HTTPS_PROXY": "", "https_proxy": PROXY}, PROXY),
        ("https://kube.example.com", {"HTTP_PROXY": PROXY}, DIRECT),
        ("http://kube.example.com", {"HTTP_PROXY": PROXY}, PROXY),
        ("http://kube.example.com", {"http_proxy": PROXY}, PROXY),
        ("http://kube.example.com", {"HTTPS_PROXY": PROXY}, DIRECT),
        ("https://kube.example.com", {"ALL_PROXY": "socks5://p:1080"}, DIRECT),
        ("https://kube.example.com", {"all_proxy": PROXY}, DIRECT),
    ],
)
def test_the_scheme_of_the_server_chooses_the_variable(server, environ, proxy_in_go):
    assert proxy_for(server, environ) == proxy_in_go


@pytest.mark.parametrize(
    ("value", "proxy_in_go"),
    [
        ("proxy:3128", "http://proxy:3128"),
        ("proxy.example.com", "http://proxy.example.com"),
        ("10.0.0.1:3128", "http://10.0.0.1:3128"),
        ("[fd00::1]:3128", "http://[fd00::1]:3128"),
        ("user:pass@proxy:3128", "http://user:pass@proxy:3128"),
        ("https://proxy", "https://proxy"),
        ("http://user:p%40ss@proxy:3128/", "http://user:p%40ss@proxy:3128/"),
    ],
)
def test_a_proxy_without_a_scheme_is_plain_http(value, proxy_in_go):
    assert proxy_for("https://kube.example.com", {"HTTPS_PROXY": value}) == proxy_in_go


@pytest.mark.parametrize(
    ("server", "no_proxy", "proxy_in_go"),
    [
        # networks and addresses
        ("https://10.96.0.1:443", "10.0.0.0/8", DIRECT),
        ("https://10.96.0.1:443", "10.96.5.9/16", DIRECT),
        ("https://10.96.0.1:443", "172.16.0.0/12, 10.0.0.0/8", DIRECT),
        ("https://11.0.0.1:443", "10.0.0.0/8", PROXY),
        ("https://10.96.0.1:443", "10.0.0.0/255.0.0.0", PROXY),
        ("https://10.96.0.1:443", "10.96.0.1", DIRECT),
        ("https://10.96.0.1:443", "10.96.0.1:443", DIRECT),
        ("https://10.96.0.1:6443", "10.96.0.1:443", PROXY),
        ("https://10.96.0.1", "10.96.0.1:443", DIRECT),
        ("https://10.96.0.1", "10.96", PROXY),
        ("https://10.96.0.1", "0.1", PROXY),
        ("https://[fd00::1]:443", "fd00::/8", DIRECT),
        ("https://[fd00::1]:443", "fd00::1", DIRECT),
        ("https://[fd00::1]:443", "FD00:0:0::1", DIRECT),
        ("https://[fd00::1]:443", "[fd00::1]:443", DIRECT),
        ("https://[fd00::1]:443", "[fd00::1]:444", PROXY),
        ("https://[fd00::1]:443", "[fd00::1]", PROXY),
        ("https://[::ffff:10.0.0.1]:443", "10.0.0.0/8", DIRECT),
        ("https://kube.example.com", "10.0.0.0/8", PROXY),
        # domains
        ("https://kube.example.com", "example.com", DIRECT),
        ("https://example.com", "example.com", DIRECT),
        ("https://badexample.com", "example.com", PROXY),
        ("https://kube.example.com", ".example.com", DIRECT),
        ("https://example.com", ".example.com", PROXY),
        ("https://kube.example.com", "*.example.com", DIRECT),
        ("https://example.com", "*.example.com", PROXY),
        ("https://kube.example.com", "*example.com", PROXY),
        ("https://kube.example.com", "kube.*", PROXY),
        ("https://KUBE.Example.com", " Example.COM ", DIRECT),
        ("https://kube.example.com", "example.org", PROXY),
        ("https://kube.example.com:6443", "example.com:6443", DIRECT),
        ("https://kube.example.com:6443", "example.com:443", PROXY),
        ("https://kube.example.com", "example.com:443", DIRECT),
        ("https://kube.example.com", "example.com:", DIRECT),
        ("https://kube.example.com", ":443", PROXY),
        ("https://kube.example.com", "a.com b.com example.com", PROXY),
        ("https://kubernetes.default.svc", "10.0.0.0/8,.svc", DIRECT),
        ("https://kübe.example.com", "xn--kbe-hoa.example.com", DIRECT),
        ("https://a.xn--kbe-hoa.com", ".kübe.com", DIRECT),
        # everything
        ("https://kube.example.com", "*", DIRECT),
        ("https://10.0.0.1", "a.com,*", DIRECT),
        ("https://kube.example.com", ",, ,", PROXY),
        # the own machine, always
        ("https://127.0.0.1:6443", "", DIRECT),
        ("https://127.8.9.1:6443", "", DIRECT),
        ("https://localhost:6443", "", DIRECT),
        ("https://[::1]:6443", "", DIRECT),
        ("https://kind.localhost:6443", "", PROXY),
        ("https://0.0.0.0:6443", "", PROXY),
    ],
)
def test_what_is_exempt_is_what_go_exempts(server, no_proxy, proxy_in_go):
    for name in ("NO_PROXY", "no_proxy"):
        assert proxy_for(server, {"HTTPS_PROXY": PROXY, name: no_proxy}) == proxy_in_go


def test_a_cgi_program_does_not_use_what_a_client_may_have_sent():
    """Go refuses it too; https://go.dev/s/cgihttpproxy."""
    environ = {"HTTP_PROXY": PROXY, "HTTPS_PROXY": PROXY, "REQUEST_METHOD": "GET"}

    with pytest.raises(ConfigError, match="HTTP_PROXY is not used where REQUEST_METHOD is set"):
        proxy_for("http://kube.example.com", environ)
    assert proxy_for("https://kube.example.com", environ) == PROXY


@pytest.mark.parametrize(
    ("proxy", "problem"),
    [
        ("socks5://u:s3cret@p:1080", "HTTPS_PROXY is a SOCKS proxy, which is not supported; use"),
        ("ftp://u:s3cret@p", "HTTPS_PROXY is no http:// or https:// URL; write it like http://"),
        ("http://u:s3cret@p:port", "HTTPS_PROXY is no URL; write it like http://"),
        ("http://u:s3cret@p:99999", "HTTPS_PROXY is no URL; write it like http://"),
        ("http://u:s3cret@[p", "HTTPS_PROXY is no URL; write it like http://"),
        ("http://", "HTTPS_PROXY is no http:// or https:// URL; write it like http://"),
        ("//s3cret:3128", "HTTPS_PROXY is no http:// or https:// URL; write it like http://"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_an_error_without_its_password(proxy, problem):
    """Go ignores those that do not parse, and so sends past the proxy."""
    with pytest.raises(ConfigError) as error:
        proxy_for("https://kube.example.com", {"HTTPS_PROXY": proxy})

    assert str(error.value).startswith(problem)
    assert "s3cret" not in str(error.value)
    assert error.value.__context__ is None or error.value.__suppress_context__


def test_the_proxy_of_a_configuration_is_not_the_environments(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://env:1")
    monkeypatch.setenv("NO_PROXY", "*")

    assert RestConfig(server="https://kube.example.com", proxy="http://q:1").proxy == "http://q:1"
    assert RestConfig(server="https://127.0.0.1", proxy="http://q:1").proxy == "http://q:1"
    assert RestConfig(server="https://kube.example.com", proxy="").proxy == ""


def test_a_configuration_without_one_takes_that_of_the_environment_once(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "p:3128")
    monkeypatch.setenv("NO_PROXY", "example.org")
    config = RestConfig(server="https://kube.example.com")
    monkeypatch.delenv("HTTPS_PROXY")

    assert config.proxy == "http://p:3128"
    assert pickle.loads(pickle.dumps(config)).proxy == "http://p:3128"
    other = dataclasses.replace(config, server="https://127.0.0.1", proxy=None)
    assert other.proxy == ""


@pytest.mark.parametrize("proxy", ["socks5://p:1080", "p:3128", "ftp://p", "http://:3128"])
def test_a_configured_proxy_needs_a_scheme_that_works(proxy):
    """kubectl refuses those too, all but socks5."""
    with pytest.raises(ConfigError, match=r"^the proxy is"):
        RestConfig(server="https://kube.example.com", proxy=proxy)
    with pytest.raises(ConfigError, match=r"^proxy-url of cluster 'a' is"):
        checked_proxy(proxy, source="proxy-url of cluster 'a'")
