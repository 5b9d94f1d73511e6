"""The webhook server as a whole, on a real socket."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import urllib3

from clientgo.operator.errors import AlreadyStartedError, ConfigError, DeclarationError
from clientgo.operator.webhooks import (
    AdmissionContext,
    Denied,
    WebhookOptions,
    Webhooks,
    WebhookServer,
    default,
    validate,
)
from clientgo.testing import FakeClock
from tests.background import Background
from tests.cache.metrics import RecordingProvider
from tests.operator.webhooks.caller import TLS, connect, post, put_certificate, trusting
from tests.operator.webhooks.reviews import Foo, body, foo, review, verdict_in
from tests.operator.webhooks.versions import FromAlpha, JobV1, JobV1Beta1, job

MUTATE = "/mutate-demo-example-com-v1-foo"
VALIDATE = "/validate-demo-example-com-v1-foo"


@default(Foo)
def fill_in(obj: Foo, ctx: AdmissionContext) -> None:
    obj.spec.replicas = 3


@validate(Foo)
def check(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
    if obj.spec.replicas == 0:
        raise Denied("none at all")
    if obj.spec.replicas == -1:
        raise ZeroDivisionError


def serve(directory: Path, metrics: Any = None, **options: Any) -> WebhookServer:
    webhooks = Webhooks()
    webhooks.register(fill_in, check, FromAlpha)
    server = WebhookServer(
        WebhookOptions(host="127.0.0.1", port=0, cert_dir=str(directory), **options),
        webhooks,
        metrics=metrics or RecordingProvider(),
    )
    server.start()
    return server


@pytest.fixture
def metrics() -> RecordingProvider:
    return RecordingProvider()


@pytest.fixture
def server(tmp_path: Path, metrics: RecordingProvider) -> Iterator[WebhookServer]:
    server = serve(put_certificate(tmp_path), metrics)
    yield server
    assert server.stop(60) == []


def test_reviews_and_conversions_are_answered_over_tls(server: WebhookServer) -> None:
    """OP-WHK-01, OP-WHK-13, OP-CNV-01"""
    mutated = post(server, MUTATE, body(review("CREATE", foo())))
    refused = post(server, VALIDATE, body(review("CREATE", foo(replicas=0))))
    converted = post(
        server,
        "/convert?timeout=30s",
        msgspec.json.encode(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "ConversionReview",
                "request": {
                    "uid": "c-1",
                    "desiredAPIVersion": "demo.example.com/v1",
                    "objects": [job("v1alpha1", schedule="5 4")],
                },
            }
        ),
    )

    assert [status for status, _ in (mutated, refused, converted)] == [200, 200, 200]
    assert verdict_in(mutated[1]).patch[0]["value"] == 3
    assert verdict_in(refused[1]).code == 403
    (made,) = msgspec.json.decode(converted[1])["response"]["convertedObjects"]
    assert made["spec"]["minute"] == "5"


def test_an_unknown_path_is_not_found(server: WebhookServer) -> None:
    assert post(server, "/nowhere", b"{}")[0] == 404


def test_malformed_calls_are_answered_with_200_and_a_refusal(server: WebhookServer) -> None:
    """OP-WHK-08"""
    answers = [
        post(server, MUTATE, b""),
        post(server, MUTATE, b"{"),
        post(server, MUTATE, body(review("CREATE", foo())), content_type="text/plain"),
        post(server, MUTATE, b"x" * (7 * 1024 * 1024)),
    ]

    assert [status for status, _ in answers] == [200] * 4
    assert [verdict_in(content).code for _, content in answers] == [400, 400, 400, 413]


def test_a_handler_that_fails_does_not_end_the_server(server: WebhookServer) -> None:
    """OP-WHK-07, OP-WHK-08"""
    failed = post(server, VALIDATE, body(review("CREATE", foo(replicas=-1))))
    fine = post(server, VALIDATE, body(review("CREATE", foo(replicas=1))))

    assert (failed[0], verdict_in(failed[1]).code) == (200, 500)
    assert verdict_in(fine[1]).allowed


def test_calls_are_counted_and_timed_by_path(
    server: WebhookServer, metrics: RecordingProvider
) -> None:
    """OP-MET-08, OP-WHK-21"""
    name = "controller_runtime_webhook"
    assert metrics.values[f"{name}_requests_total", MUTATE, "500"] == []

    post(server, MUTATE, body(review("CREATE", foo())))
    post(server, MUTATE, body(review("CREATE", foo())))
    post(server, "/convert", b"nonsense")

    assert metrics.values[f"{name}_requests_total", MUTATE, "200"] == [1.0, 1.0]
    assert metrics.values[f"{name}_requests_total", "/convert", "400"] == [1.0]
    assert len(metrics.values[f"{name}_latency_seconds", MUTATE]) == 2
    assert metrics.values[f"{name}_requests_in_flight", MUTATE] == [1.0, -1.0, 1.0, -1.0]


def test_it_is_ready_when_it_shakes_hands_with_itself(server: WebhookServer) -> None:
    """OP-WHK-12"""
    server.check()


def test_it_is_not_ready_before_its_start_nor_after_its_end(tmp_path: Path) -> None:
    """OP-WHK-12"""
    server = WebhookServer(
        WebhookOptions(host="127.0.0.1", port=0, cert_dir=str(put_certificate(tmp_path))),
        Webhooks(),
    )
    with pytest.raises(RuntimeError, match="not started"):
        server.check()
    server.start()
    server.check()
    server.stop(60)
    with pytest.raises(OSError, match="refused"):
        server.check()


def test_all_addresses_are_served_where_no_host_is_given(tmp_path: Path) -> None:
    """OP-WHK-01, OP-WHK-12"""
    server = WebhookServer(
        WebhookOptions(port=0, cert_dir=str(put_certificate(tmp_path))), Webhooks()
    )
    server.start()
    try:
        server.check()
        connect(("127.0.0.1", server.bound[1])).close()
    finally:
        assert server.stop(60) == []


def test_without_a_usable_certificate_it_does_not_start(tmp_path: Path) -> None:
    """OP-CRT-01"""
    with pytest.raises(ConfigError, match=r"tls\.crt"):
        serve(tmp_path)
    put_certificate(tmp_path)
    (tmp_path / "tls.key").write_text("no key")
    with pytest.raises(ConfigError, match=r"tls\.key"):
        serve(tmp_path)


def test_with_certificates_of_its_own_it_serves_as_soon_as_they_are_there(tmp_path: Path) -> None:
    """OP-CRT-02"""
    server = serve(tmp_path, certs="self")
    try:
        with pytest.raises(OSError, match=r"."):
            server.check()
        put_certificate(tmp_path)
        server.check()
    finally:
        assert server.stop(60) == []


def test_callers_without_a_certificate_are_refused_where_one_is_asked_for(tmp_path: Path) -> None:
    """OP-WHK-01"""
    put_certificate(tmp_path)
    server = serve(tmp_path, client_ca=str(TLS / "ca.crt"))
    content = body(review("CREATE", foo()))
    try:
        status, answer = post(server, MUTATE, content, context=trusting(client="client-one"))
        with pytest.raises(urllib3.exceptions.HTTPError):
            post(server, MUTATE, content)
        server.check()
    finally:
        assert server.stop(60) == []
    assert status == 200
    assert verdict_in(answer).allowed


def test_tls_before_1_2_is_refused(server: WebhookServer) -> None:
    """OP-CRT-04"""
    context = trusting()
    assert server.certificate.context().minimum_version == ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with connect(server.bound, context) as sock:
        assert sock.version() == "TLSv1.2"


def test_versions_that_cannot_be_converted_are_refused_at_the_start(tmp_path: Path) -> None:
    """OP-CNV-02"""
    webhooks = Webhooks()
    webhooks.register(FromAlpha)
    webhooks.convertible(JobV1, JobV1Beta1)
    server = WebhookServer(WebhookOptions(cert_dir=str(put_certificate(tmp_path))), webhooks)

    with pytest.raises(DeclarationError, match="no converter"):
        server.start()


def test_it_runs_once(server: WebhookServer) -> None:
    """OP-MGR-25"""
    with pytest.raises(AlreadyStartedError):
        server.start()


def test_after_its_end_there_is_no_thread_and_no_series_and_another_can_start(
    tmp_path: Path, metrics: RecordingProvider
) -> None:
    """OP-MGR-19, OP-MGR-25"""
    threads = set(threading.enumerate())
    kept = 0
    for _ in range(2):
        server = serve(put_certificate(tmp_path), metrics)
        post(server, MUTATE, body(review("CREATE", foo())))
        assert server.stop(60) == []
        assert server.stop(60) == []
        unlabelled = 4
        kept += unlabelled
        assert metrics.in_use == kept
    assert set(threading.enumerate()) <= threads


def test_a_handler_that_hangs_is_named_when_the_server_stops(tmp_path: Path) -> None:
    """OP-WHK-01, OP-WHK-15"""
    release = threading.Event()

    @validate(Foo, timeout_seconds=1)
    def hang(obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None:
        release.wait(30)

    webhooks = Webhooks()
    webhooks.register(hang)
    clock = FakeClock()
    options = WebhookOptions(host="127.0.0.1", port=0, cert_dir=str(put_certificate(tmp_path)))
    server = WebhookServer(options, webhooks, clock=clock)
    server.start()
    call = Background(lambda: post(server, VALIDATE, body(review("CREATE", foo()))))
    clock.wait_for_waiters(2)  # for the handler, and to read the certificate again
    clock.step(0.5)

    assert verdict_in(call.result()[1]).code == 504
    assert f"webhook-handler{VALIDATE}" in server.stop(0.01)
    release.set()
