"""Faults over HTTP, for a server in another process or tests in another language.

Promises: ``POST`` injects the fault in the body, ``DELETE`` lifts it, or all without a body, and
``GET`` tells which hold. The path is served only by a server that was started for it.

A fault in JSON is its fields, and its class under ``fault``.
"""

from __future__ import annotations

import msgspec

from clientgo.apiserver.cluster import Cluster
from clientgo.apiserver.fault_injection import FaultInjector
from clientgo.apiserver.faults import Fault
from clientgo.apiserver.http import Request, Response, json_response
from clientgo.apiserver.status_errors import bad_request, method_not_allowed

CONTROL_PATH = "/clientgo/faults"
"""Where faults are controlled; no Kubernetes API is below it."""


def control_faults(request: Request, faults: FaultInjector, cluster: Cluster) -> Response:
    """Answer a request for CONTROL_PATH with the faults that hold after it.

    Raises:
        StatusError: 400, the body is no fault; 405, for any other method.
    """
    if request.method == "POST":
        faults.inject(_read_fault(request.body), cluster)
    elif request.method == "DELETE":
        faults.lift(_read_fault(request.body) if request.body else None)
    elif request.method != "GET":
        raise method_not_allowed()
    return json_response(faults.active())


def _read_fault(body: bytes) -> Fault:
    try:
        fault: Fault = msgspec.json.decode(body, type=Fault)
    except msgspec.DecodeError as error:
        raise bad_request(f"the body is no fault: {error}") from error
    return fault
