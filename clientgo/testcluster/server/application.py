"""The ASGI application: who asks, whether it may, faults, and what a failed request is answered.

Promises: every request gets a response in the form of the API; an unexpected error is logged with
its traceback and answered as a Status without it.

Upstream: apiserver ``server/filters``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from clientgo.testcluster.server.auth.authentication.shared_token import SharedToken
from clientgo.testcluster.server.auth.authorization.authorizer import AlwaysAllow, Attributes
from clientgo.testcluster.server.auth.authorization.refusals import AccessDeniedError, RefusedError
from clientgo.testcluster.server.auth.flow_control import FlowControl
from clientgo.testcluster.server.auth.impersonation import Headers, Impersonation
from clientgo.testcluster.server.auth.users import User
from clientgo.testcluster.server.cluster import Cluster
from clientgo.testcluster.server.discovery.discovery import discover
from clientgo.testcluster.server.discovery.openapi import answer_openapi
from clientgo.testcluster.server.discovery.openid import answer_openid
from clientgo.testcluster.server.discovery.server_pages import HEALTH_PATHS, answer_server_page
from clientgo.testcluster.server.faults.control import CONTROL_PATH, FaultControl
from clientgo.testcluster.server.faults.injection import FaultInjector
from clientgo.testcluster.server.http.browser_check import PROGRAM, BrowserCheck
from clientgo.testcluster.server.http.messages import (
    JSON,
    SEND_WHOLE,
    AnyResponse,
    Receive,
    Request,
    Response,
    Send,
    failure_response,
    page_not_found,
    read_request,
)
from clientgo.testcluster.server.http.negotiation import plain_type
from clientgo.testcluster.server.requests.attributes import attributes_of
from clientgo.testcluster.server.requests.options import check_timeout, is_long_running
from clientgo.testcluster.server.requests.routing import answer_resource_request
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    bad_request,
    internal,
)
from clientgo.testcluster.server.storage.journal import JournalError
from clientgo.util.copies import uncopyable

LOG = logging.getLogger("clientgo.testcluster.server")

_KEPT_REFUSALS = 1000
_LONGEST_REFUSAL = 4096
"""Refused requests that are remembered, each once, and their longest, in characters."""


@uncopyable("it has locks; make one in each process")
class Application:
    """Serves one cluster's API."""

    def __init__(
        self,
        cluster: Cluster,
        faults: FaultInjector | None = None,
        fault_control: FaultControl | None = None,
        browser_check: BrowserCheck | None = None,
    ) -> None:
        """Serve ``cluster``."""
        self._state = cluster.state
        self._writer = cluster.writer
        self._impersonation = Impersonation(cluster.state.authorizer)
        self._decides = not isinstance(cluster.state.authorizer, AlwaysAllow)
        self._flow_control = FlowControl(cluster.state.storage)
        self._faults = faults or FaultInjector(SharedToken())
        self._fault_control = fault_control
        self._browser_check = browser_check or BrowserCheck("localhost")
        self.refused: dict[Attributes, None] = {}
        """What users wanted to do and may not, in the order of the first time."""

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        sender = PROGRAM
        request: Request | None = None
        try:
            sender = self._browser_check.check(scope["headers"])
            request = await read_request(scope, receive)
            if request is None:
                return
            sender.check_body(request.body, request.headers.get("content-type", ""))
            answer = sender.preflight(request.method) or await self._admit(
                request, scope["headers"]
            )
            if isinstance(answer, Response) and request.accepts_gzip:
                await answer.compress()
        except FailedRequestError as error:
            if isinstance(error, RefusedError):
                self._remember(error.attributes)
            answer = failure_response(error, _media_type(scope))
        except RecursionError:
            answer = failure_response(bad_request("the object is nested too deep"))
        except Exception:
            LOG.exception("%s %r failed", scope.get("method"), scope.get("path"))
            answer = failure_response(
                internal("an unexpected error; the server's log has the details")
            )
        try:
            await self._state.storage.durable()
        except JournalError as error:
            answer = failure_response(internal(str(error)))
        answer.headers += sender.response_headers()
        if request is not None:
            answer.headers += request.flow_headers
        send_whole = scope.get("extensions", {}).get(SEND_WHOLE)
        if send_whole is not None and isinstance(answer, Response):
            await send_whole(answer.status, answer.head(), answer.body)
        else:
            await answer.send(send, receive)

    async def _admit(self, request: Request, headers: Headers) -> AnyResponse:
        check_timeout(request)
        if request.path not in HEALTH_PATHS or "authorization" in request.headers:
            request.user = self._authenticate(request)
            if "impersonate-" in "".join(request.headers):
                request.user = self._impersonation.user_of(attributes_of(request), headers)
        self._classify(request)
        return await self._faults.answer(request, self._state.storage, self._answer)

    def _authenticate(self, request: Request) -> User:
        """Return the user of a request.

        Raises:
            FailedRequestError: 401.
        """
        connection = request.connection
        return self._state.authenticator.authenticate(
            request.headers.get("authorization", ""),
            connection.get_extra_info("peercert") if connection is not None else None,
        )

    def _classify(self, request: Request) -> None:
        attributes = attributes_of(request)
        if attributes.verb == "watch" or not is_long_running(attributes):
            request.flow_headers = self._flow_control.headers(attributes)

    def _authorize(self, request: Request) -> None:
        """Refuse what the user of a request may not do.

        Raises:
            FailedRequestError: 403.
        """
        attributes = attributes_of(request)
        decision = self._state.authorizer.authorize(attributes)
        if not decision.allowed:
            raise AccessDeniedError(attributes, decision.reason)

    def _remember(self, refused: Attributes) -> None:
        if len(self.refused) < _KEPT_REFUSALS and len(str(refused)) <= _LONGEST_REFUSAL:
            self.refused[refused] = None

    async def _answer(self, request: Request) -> AnyResponse:
        if self._decides and request.path not in HEALTH_PATHS:
            self._authorize(request)
        answer = await answer_resource_request(self._state, self._writer, request)
        return self._answer_non_resource(request) if answer is None else answer

    def _answer_non_resource(self, request: Request) -> AnyResponse:
        path = request.path
        if self._fault_control is not None and path == CONTROL_PATH:
            return self._fault_control.answer(request)
        registry = self._state.registry
        return (
            answer_server_page(self._state, request)
            or discover(registry, request)
            or answer_openapi(registry, request)
            or answer_openid(self._state.authenticator.accounts, request)
            or page_not_found()
        )


def _media_type(scope: Mapping[str, Any]) -> str:
    """Return the media type of a failure: what the client accepts, or JSON."""
    accept = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    try:
        return plain_type(accept.decode("latin-1"))
    except FailedRequestError:
        return JSON
