"""URLs, read as Go reads them."""

from __future__ import annotations

import pytest

from clientgo.util.text.request_uri import RequestURIError, parse_request_uri, parse_url


@pytest.mark.parametrize(
    "text",
    [
        *("//bad host/x", "///a b", "//[/x", "*", "/a b", "/#%20", "bogus:", "mailto:a b", "a:%zz"),
        *("http://", "http:///x", "http://a<b>/", 'http://a"b/', "http://a:/", "http://a%25b/"),
        *("http://%c3%bc/", "http://ü/", "http://u:p@h/", "http://u@v@h/", "http://u%20x@h/"),
        *(
            "http://[::1]/",
            "http://[::1]:80/",
            "http://[fe80::1%25en0]/",
            "http://[::ffff:1.2.3.4]/",
        ),
        *("HTTP://h/?%zz", "/?%zz", "/a?b?c", "http://h/#%20", "http://[fe80::1%25a%20b]/"),
    ],
)
def test_a_request_uri(text: str) -> None:
    assert parse_request_uri(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "a/b", "?x", "#x", ":x", "1a:b", "/%zz", "/%", "/\n", "/\x7f"),
        *("http://a b/", "http://a\\b/", "http://a^b/", "http://a%20b/", "http://a%zz/"),
        *("http://u x@h/", "http://u[@h/", "http://u%zz@h/", "http://ü@h/", "http://<u>@h/"),
        *(
            "http://h#x/",
            "http://a:b/",
            "http://a:80:80/",
            "http://::1/",
            "http://[::1/",
            "http://a[::1]/",
        ),
        *("http://[::1]x/", "http://[1.2.3.4]/", "http://[a]/", "http://[]/", "http://]:x/"),
    ],
)
def test_no_request_uri(text: str) -> None:
    with pytest.raises(RequestURIError):
        parse_request_uri(text)


def test_a_url_may_be_relative_and_have_a_fragment() -> None:
    for text in ("", "a/b", "?x", "#x", "///a b", "//h/x"):
        assert parse_url(text).text == text
    for text in ("//bad host/x", "a:b/c:%zz#%zz", "1a:b", "/#%zz"):
        with pytest.raises(RequestURIError):
            parse_url(text)
    uri = parse_url("https://u:p@h:1/a%2Fb?c#d")
    assert (uri.user, uri.host, uri.query, uri.fragment) == ("u:p", "h:1", "c", "d")
    assert (uri.hostname, uri.port, uri.escaped_path) == ("h", "1", "/a%2Fb")
    assert parse_url("/a%2F b!").escaped_path == "/a/%20b%21"
    assert parse_url("/%ff b").escaped_path == "/%FF%20b"
    assert parse_url("//h/x").host == "h"
    assert parse_url("http://[fe80::1%25e]:80/").hostname == "fe80::1%e"
