"""Who may use the page, and what it answers."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from clientgo.tools.study.recording import Recording
from clientgo.tools.study.server import PageServer
from clientgo.tools.study.token import page_token

HOP = {"hop": "queue.add", "at": 0.5, "of": "foos", "key": "default/x</script>"}


@pytest.fixture
def recording() -> Recording:
    return Recording([json.dumps(HOP).encode()])


@pytest.fixture
def page(recording: Recording) -> Iterator[PageServer]:
    with PageServer(recording, title="a recording") as server:
        yield server


def ask(
    page: PageServer, name: str = "", *, method: str = "GET", body: Any = None, **headers: str
) -> tuple[int, str]:
    url = urlsplit(page.url)
    connection = http.client.HTTPConnection(url.netloc, timeout=30)
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    content = None if body is None else json.dumps(body)
    try:
        connection.request(method, url.path + name, content, sent)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_the_page_and_its_files_are_served_below_the_token(page: PageServer) -> None:
    assert "<title>clientgo study</title>" in ask(page)[1]
    assert ask(page, "study.css")[0] == 200
    assert "Study.model" in ask(page, "model.js")[1]


def test_nothing_is_served_without_the_token(page: PageServer) -> None:
    url = urlsplit(page.url)
    for path in ("/", "/study.css", "/events", f"{url.path[:-2]}/"):
        connection = http.client.HTTPConnection(url.netloc, timeout=30)
        connection.request("GET", path)
        assert connection.getresponse().status == 404
        connection.close()


def test_a_restart_on_its_port_has_the_same_address(page: PageServer) -> None:
    port = urlsplit(page.url).port
    assert port is not None

    with PageServer(Recording(), title="another port") as other:
        assert urlsplit(other.url).path != urlsplit(page.url).path
    assert urlsplit(page.url).path == f"/{page_token(port)}/"


def test_the_key_of_the_addresses_is_the_user_s(own_state_directory: Path) -> None:
    before = page_token(8001)
    file = own_state_directory / "clientgo/study.key"
    assert (file.stat().st_mode & 0o777, len(file.read_bytes())) == (0o600, 32)

    file.unlink()

    assert page_token(8001) != before, "another user has another key"


def test_without_a_place_for_the_key_each_start_has_another_token(
    own_state_directory: Path,
) -> None:
    own_state_directory.write_text("no directory")

    assert page_token(8001) != page_token(8001)


def test_it_listens_on_loopback_only(page: PageServer) -> None:
    assert urlsplit(page.url).hostname == "127.0.0.1"


@pytest.mark.parametrize("host", ["evil.example.com", "evil.example.com:80", "127.0.0.1"])
def test_a_request_for_another_host_is_refused(page: PageServer, host: str) -> None:
    assert ask(page, Host=host)[0] == 421


def test_localhost_is_this_host(page: PageServer) -> None:
    assert ask(page, Host=f"localhost:{urlsplit(page.url).port}")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example.com"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_a_request_that_another_site_causes_is_refused(
    page: PageServer, headers: dict[str, str]
) -> None:
    assert ask(page, **headers)[0] == 403
    assert ask(page, "act", method="POST", body={}, **headers)[0] == 403


def test_its_own_page_may_ask(page: PageServer) -> None:
    url = urlsplit(page.url)
    own = {"Origin": f"http://{url.netloc}", "Sec_Fetch_Site": "same-origin"}

    assert ask(page, "recording", **own)[0] == 200


@pytest.mark.parametrize("name", ["../session.py", "%2e%2e/session.py", "none.js", "index.html"])
def test_other_files_are_not_served(page: PageServer, name: str) -> None:
    assert ask(page, name)[0] == 404


def test_events_are_sent_with_their_position_and_end_with_the_recording(
    page: PageServer, recording: Recording
) -> None:
    recording.close()

    status, text = ask(page, "events")

    assert status == 200
    assert f"id: 1\ndata: {json.dumps(HOP)}\n\nevent: now\ndata:\n\n" in text
    assert text.endswith("event: end\ndata:\n\n")


def test_a_page_that_comes_back_gets_only_what_it_has_not_seen(
    page: PageServer, recording: Recording
) -> None:
    recording.add(b'{"hop": "queue.get", "at": 1}')
    recording.close()

    _, text = ask(page, "events", Last_Event_ID="1")

    assert "queue.add" not in text
    assert 'id: 2\ndata: {"hop": "queue.get", "at": 1}' in text


def test_what_is_added_later_comes_after_now(page: PageServer, recording: Recording) -> None:
    url = urlsplit(page.url)
    connection = http.client.HTTPConnection(url.netloc, timeout=30)
    connection.request("GET", f"{url.path}events")
    stream = connection.getresponse()
    lines = iter(lambda: stream.readline().decode().strip(), None)
    assert "event: now" in lines

    recording.add(b'{"hop": "queue.get", "at": 1}')

    assert 'data: {"hop": "queue.get", "at": 1}' in lines
    recording.close()
    assert "event: end" in lines
    connection.close()


def test_a_program_that_ends_tells_the_pages_that_are_open() -> None:
    for _ in range(5):
        with PageServer(Recording(), title="a recording") as page:
            url = urlsplit(page.url)
            connection = http.client.HTTPConnection(url.netloc, timeout=30)
            connection.request("GET", f"{url.path}events")
            stream = connection.getresponse()
            assert b"now" in b"".join(stream.readline() for _ in range(4))
        assert stream.read().endswith(b"event: end\ndata:\n\n")
        connection.close()


def test_the_recording_can_be_saved(page: PageServer, recording: Recording) -> None:
    assert ask(page, "recording.jsonl") == (200, recording.text().decode())


def test_a_recording_can_t_be_changed(page: PageServer) -> None:
    status, text = ask(page, "step", method="POST", body={}, Content_Type="application/json")

    assert (status, "nothing can be changed" in text) == (409, True)


def test_the_exported_page_holds_everything_and_asks_for_nothing(page: PageServer) -> None:
    status, text = ask(page, "export.html")

    assert status == 200
    for reference in ('src="', 'rel="stylesheet"', "http://", "https://"):
        assert reference not in text.replace("http://www.w3.org/2000/svg", "")
    assert "default-src 'none'" in text
    assert "x\\u003c/script>" in text, "a text of the recording could end its element"
    assert text.count("</script>") == text.count("<script")
