"""Lists in pages, so that neither side holds the whole list as one answer; for programs that list.

Promises: later pages are requested with the continue token alone. When it has expired, one full,
newer list replaces the pages. Objects do not keep their page in memory.

Differs from client-go (``tools/pager`` ListPager): :meth:`ListPager.each_item` also leaves the
resource version out of later requests, because the server would refuse it. A continue token that
comes a second time is an error; client-go asks with it until memory runs out.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from clientgo.meta import ExpiredError, ListMeta, ListOptions, ObjectList
from clientgo.meta.wire.answers import repeated_token
from clientgo.util.process import SupervisedThread
from clientgo.util.wait import WaitCancelledError, call_when_set

PageFunc: TypeAlias = Callable[[ListOptions, threading.Event], ObjectList[Any]]
"""Requests one list or page; returns or raises soon after the event is set."""

DEFAULT_PAGE_SIZE: Final = 500
"""As in the API's own clients."""

DEFAULT_PREFETCH: Final = 10
"""Pages that are fetched before they are visited."""


class ListPager:
    """Lists through a function that returns pages. Thread-safe; holds no state.

    ``page_size`` is used if the options have no limit; 0 means no limit.
    """

    def __init__(
        self,
        page_fn: PageFunc,
        *,
        page_size: int = DEFAULT_PAGE_SIZE,
        prefetch: int = DEFAULT_PREFETCH,
        full_list_if_expired: bool = True,
    ) -> None:
        if prefetch < 0:
            raise ValueError(f"prefetch is a number of pages, not {prefetch}")
        self._page_fn = page_fn
        self._page_size = page_size
        self._prefetch = prefetch
        self._full_list_if_expired = full_list_if_expired

    def list(self, options: ListOptions, stop: threading.Event) -> tuple[ObjectList[Any], bool]:
        """Return all items, and True if they came in more than one page. Blocks.

        A single page is returned as it came; several become one list with the resource version of
        the first. Raises :class:`~clientgo.util.wait.WaitCancelledError` when ``stop`` is set
        before a page, ``TypeError`` for an answer that is not a list, ``DecodeError`` for a
        continue token that comes a second time, and what the page function raises.
        """
        pages = self.pages(options, stop)
        first = next(pages)
        if not first.metadata.continue_:
            return first, False
        merged: ObjectList[Any] = ObjectList(
            metadata=ListMeta(resource_version=first.metadata.resource_version), items=[]
        )
        _append(merged, first)
        del first
        try:
            for page in pages:
                _append(merged, page)
        except ExpiredError:
            if not self._full_list_if_expired:
                raise
            full = msgspec.structs.replace(options, limit=0, continue_="")
            return self._page(full, stop), True
        return merged, True

    def each_item(
        self, options: ListOptions, visit: Callable[[Any], object], stop: threading.Event
    ) -> None:
        """Call ``visit`` with each item, while further pages are fetched. Blocks.

        What ``visit`` raises ends the listing and is raised. What the page function raises is
        raised after the items before it have been visited; there is no full list then. When
        ``stop`` is set, the current page is visited to its end, then
        :class:`~clientgo.util.wait.WaitCancelledError` is raised.
        """
        with _Prefetcher(lambda child: self.pages(options, child), self._prefetch, stop) as pages:
            for page in pages:
                for item in page.items:
                    visit(item)

    def pages(self, options: ListOptions, stop: threading.Event) -> Iterator[ObjectList[Any]]:
        """Iterate over the pages; each is fetched when it is asked for. Raises as :meth:`list`."""
        options, tokens = self._with_limit(options), set[str]()
        while True:
            page = self._page(options, stop)
            token = page.metadata.continue_
            if token in tokens:
                raise repeated_token(token)
            tokens.add(token)
            yield page
            del page
            if not token:
                return
            options = msgspec.structs.replace(
                options, continue_=token, resource_version="", resource_version_match=""
            )

    def _page(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        if stop.is_set():
            raise WaitCancelledError("the listing was stopped before its next page")
        page = self._page_fn(options, stop)
        if not isinstance(page, ObjectList):
            raise TypeError(f"a page must be an ObjectList, not a {type(page).__name__}")
        return page

    def _with_limit(self, options: ListOptions) -> ListOptions:
        if options.limit:
            return options
        return msgspec.structs.replace(options, limit=self._page_size)


def _append(merged: ObjectList[Any], page: ObjectList[Any]) -> None:
    merged.items.extend(page.items)
    merged.undecodable.extend(page.undecodable)


class _Prefetcher:
    """Iterates over pages that a thread of its own fetches, up to ``ahead`` and one more."""

    def __init__(
        self,
        pages: Callable[[threading.Event], Iterator[ObjectList[Any]]],
        ahead: int,
        stop: threading.Event,
    ) -> None:
        self._fetch_pages = pages
        self._capacity = ahead + 1
        self._outer_stop = stop
        self._stop = threading.Event()
        self._changed = threading.Condition(threading.Lock())
        self._fetched: deque[ObjectList[Any]] = deque()
        self._ended = False
        self._error: BaseException | None = None
        self._thread = SupervisedThread(
            self._fetch, name="pager-prefetch", then="the listing gets no more pages"
        )

    def __enter__(self) -> _Prefetcher:
        self._registration = call_when_set(self._outer_stop, self._cancel)
        try:
            self._thread.start()
        except BaseException:
            self._registration.cancel()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._registration.cancel()
        self._cancel()
        self._thread.join()

    def __iter__(self) -> Iterator[ObjectList[Any]]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._fetched or self._ended)
                if not self._fetched:
                    break
                page = self._fetched.popleft()
                self._changed.notify()
            if self._outer_stop.is_set():
                raise WaitCancelledError("the listing was stopped before its next page")
            yield page
            del page
        if self._error is not None:
            raise self._error

    def _cancel(self) -> None:
        self._stop.set()
        with self._changed:
            self._changed.notify_all()

    def _fetch(self) -> None:
        try:
            for page in self._fetch_pages(self._stop):
                self._add(page)
        except BaseException as error:  # noqa: BLE001 - raised where pages are iterated
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _add(self, page: ObjectList[Any]) -> None:
        """Add a page and wait until another one may be fetched."""
        with self._changed:
            self._fetched.append(page)
            self._changed.notify()
            self._changed.wait_for(
                lambda: len(self._fetched) < self._capacity or self._stop.is_set()
            )
