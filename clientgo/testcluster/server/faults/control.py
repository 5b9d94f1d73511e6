"""Faults over HTTP, for a server in another process or tests in another language.

Promises: ``POST`` injects the fault in the body, ``DELETE`` lifts it (without a body: every fault),
and ``GET`` lists the active faults. Only a server that was started for it serves the path.

A fault in JSON is its fields, and its class under ``fault``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from clientgo.meta.decoding import decode
from clientgo.testcluster.server.faults.declarations import Fault
from clientgo.testcluster.server.faults.injection import FaultInjector
from clientgo.testcluster.server.http.bodies import JSON_TYPE, media_type
from clientgo.testcluster.server.http.messages import Request, Response, json_response
from clientgo.testcluster.server.resources.errors import (
    bad_request,
    method_not_allowed,
    unsupported_media_type,
)

CONTROL_PATH = "/clientgo/faults"
"""The path; the Kubernetes API has nothing below it."""


@dataclass(frozen=True, slots=True)
class FaultControl:
    """Answers requests to the control path; ``inject`` must not wait for the event loop."""

    faults: FaultInjector
    inject: Callable[[Fault], None]

    def answer(self, request: Request) -> Response:
        """Inject or lift a fault; answer the active faults.

        Raises:
            FailedRequestError: 400, the body is not a fault; 415, it is not in JSON; 405 for other
                methods.
        """
        if request.method == "POST":
            self._inject(_read_fault(request))
        elif request.method == "DELETE":
            self.faults.lift(_read_fault(request) if request.body else None)
        elif request.method != "GET":
            raise method_not_allowed()
        return json_response(self.faults.active())

    def _inject(self, fault: Fault) -> None:
        try:
            self.inject(fault)
        except ValueError as error:
            raise bad_request(f"the fault can't happen here: {error}") from error


def _read_fault(request: Request) -> Fault:
    if media_type(request) != JSON_TYPE:
        raise unsupported_media_type((JSON_TYPE,))
    try:
        fault: Fault = decode(request.body, Fault)  # type: ignore[arg-type]  # a union is not a type
    except msgspec.DecodeError as error:
        raise bad_request(f"the body is no fault: {error}") from error
    return fault
