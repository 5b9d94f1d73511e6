"""What a shared informer says about itself."""

from __future__ import annotations

from clientgo.cache import REAL_FIFO, InformerIdentity, InformerName, wait_for_cache_sync
from clientgo.meta import ForbiddenError, GroupVersionResource
from clientgo.observe.metrics.names import INFORMER_QUEUED_ITEMS, INFORMER_STORE_RESOURCE_VERSION
from clientgo.testing.fake_source import FakeSource
from tests.cache.builders import foo
from tests.cache.informer.making import informer_of, synced
from tests.cache.metrics import RecordingProvider
from tests.cache.running import TIMEOUT, Notes, RecordingHandler, running


class TestHealth:
    def test_says_what_keeps_it_from_syncing(self, source: FakeSource) -> None:
        """FIELD-07, FIELD-28, FIELD-32, pitfall 12."""
        source.supports_watch_list = False
        source.fail("list", *[ForbiddenError.of("you may not")] * 1000)
        informer, errors = informer_of(source, name="foos", on_error=lambda _: None), Notes()
        informer.set_watch_error_handler(errors)
        with running(informer) as stop:
            errors.wait_for_count(1)
            result = wait_for_cache_sync(stop, informer, timeout=0.0)
        assert not result
        assert str(result.as_error()) == (
            "not synced, after 0.0 s: foos (last error: failed to list Foo: you may not)"
        )

    def test_is_read_from_every_part(self, source: FakeSource) -> None:
        source.add(foo("a"))
        informer, recorder = informer_of(source, name="foos"), RecordingHandler()
        informer.add_event_handler(recorder)
        with running(informer) as stop:
            synced(stop, informer)
            recorder.calls.wait_for_count(1)
            source.wait_for_watch()
            assert informer.is_watching()
            statistics = informer.statistics()
        assert statistics.synced
        assert not statistics.stopped
        assert statistics.store.objects == 1
        assert statistics.queue is not None
        assert statistics.queue.pending == 0
        assert statistics.reflector is not None
        assert statistics.reflector.is_watching
        assert statistics.handlers[0].name == "foos handler 1 (RecordingHandler)"

    def test_metrics_are_reported_under_its_name(self, source: FakeSource) -> None:
        """CMT-01, CMT-02."""
        provider = RecordingProvider()
        name = InformerName("test")
        identity = name.with_resource(GroupVersionResource("example.com", "v1", "foos"))
        recorder = RecordingHandler()
        informer = informer_of(source, queue=REAL_FIFO, identity=identity, metrics=provider)
        registration = informer.add_event_handler(recorder)
        with running(informer):
            source.add(foo("a"))
            recorder.calls.wait_for_count(1)
            assert registration.wait_until_idle(TIMEOUT)
        name.release()
        labels = ("test", "example.com", "v1", "foos")
        assert 1.0 in provider.values[(INFORMER_STORE_RESOURCE_VERSION.name, *labels)]
        assert provider.values[(INFORMER_QUEUED_ITEMS.name, *labels)][-1] == 0

    def test_without_a_reserved_name_no_metrics_are_reported(self, source: FakeSource) -> None:
        """CMT-03."""
        provider = RecordingProvider()
        name = InformerName("test")
        resource = GroupVersionResource("example.com", "v1", "foos")
        name.with_resource(resource)
        second: InformerIdentity = name.with_resource(resource)
        informer_of(source, identity=second, metrics=provider)
        name.release()
        assert not [key for key in provider.values if key[0].startswith("informer")]
