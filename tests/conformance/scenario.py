"""One run of one scenario: its fixtures, its steps, and what they answered.

A scenario is a JSON document: ``setup`` steps that must succeed, then ``steps``, each an operation
with its parameters and the recorded ``expect``. Strings may hold ``${name}``: the namespaces of the
run, ``${suffix}``, ``${group}``, ``${webhook_url}``, ``${webhook_ca}``, and what a step saved.
Operations: request, list_pages, wait_until, watch_open, watch_read, watch_end, watch_close, assert,
webhook_calls, sleep.
"""

from __future__ import annotations

import base64
import itertools
import json
import random
import re
import string
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import urllib3

from tests.conformance.normalisation import Normaliser, is_failure, strings
from tests.conformance.pointers import MISSING, Json, pointer_delete, pointer_find, pointer_get
from tests.conformance.transport import Client, Response, Watch
from tests.conformance.webhook_server import WebhookServer

HEADERS_KEPT = ("content-type", "retry-after", "allow", "location")
"""Response headers that are compared (``warning`` is compared separately, as a list)."""

WAIT_TIMEOUT = 30.0
POLL_INTERVAL = 0.1

VARIABLE_RE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class ScenarioError(Exception):
    """A scenario could not be run as written: bad step, failed fixture, lost connection."""


@dataclass
class Run:
    """One execution of one scenario against one server."""

    name: str
    document: dict[str, Json]
    client: Client
    webhook: WebhookServer | None
    wait: float = WAIT_TIMEOUT
    variables: dict[str, str] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    watches: dict[str, Watch] = field(default_factory=dict)
    namespaces: list[str] = field(default_factory=list)

    # -- variables

    def prepare(self) -> None:
        """Choose the suffix, define the built-in variables, build the normaliser."""
        first = random.choice(string.ascii_lowercase)
        suffix = first + "".join(random.choices(string.ascii_lowercase + string.digits, k=7))
        slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:36].rstrip("-")
        builtin = {"suffix": suffix, "group": f"{suffix}.conformance.example.com"}
        for variable in self.document.get("namespaces", ["ns"]):
            # The variable comes last: the order of two namespaces must not depend on the suffix.
            builtin[variable] = f"conf-{slug}-{suffix}-{variable}"
        if self.webhook is not None:
            builtin["webhook_url"] = f"{self.webhook.url}/{suffix}"
            builtin["webhook_ca"] = base64.b64encode(self.webhook.ca_pem).decode()
        self.variables.update(builtin)
        source = {key: self.document.get(key) for key in ("setup", "webhooks")}
        steps = [
            {key: item for key, item in step.items() if key != "expect"}
            for step in self.document["steps"]
        ]
        literals = list(strings([source, steps, self.document.get("keep", [])]))
        self.normaliser = Normaliser(builtin, literals, bool(self.document.get("managed_fields")))

    def expand(self, value: Json) -> Json:
        """Substitute ``${name}`` in all strings of ``value``, keys included."""
        if isinstance(value, str):

            def lookup(match: re.Match[str]) -> str:
                name = match.group(1)
                if name not in self.variables:
                    raise ScenarioError(f"unknown variable ${{{name}}}")
                return self.variables[name]

            return VARIABLE_RE.sub(lookup, value)
        if isinstance(value, dict):
            return {self.expand(key): self.expand(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.expand(item) for item in value]
        return value

    def save(self, step: Mapping[str, Json], document: Json) -> None:
        """Bind the variables that a step's ``save`` names."""
        for variable, pointer in step.get("save", {}).items():
            found = pointer_get(document, pointer)
            if found is MISSING:
                raise ScenarioError(
                    f"step {step.get('id')}: nothing at {pointer} to save as {variable}"
                )
            self.variables[variable] = found if isinstance(found, str) else json.dumps(found)

    # -- life cycle

    def set_up(self) -> None:
        """Register webhooks, create namespaces, run the ``setup`` steps."""
        if self.webhook is not None:
            for hook, answer in self.document.get("webhooks", {}).items():
                self.webhook.answers[f"/{self.variables['suffix']}/{hook}"] = self.expand(answer)
        labels = self.document.get("namespace_labels", {})
        for variable in self.document.get("namespaces", ["ns"]):
            name = self.variables[variable]
            metadata = {"name": name, "labels": self.expand(labels.get(variable, {}))}
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            response = self.client.request(
                "POST",
                "/api/v1/namespaces",
                body=json.dumps(body).encode(),
                headers={"Content-Type": "application/json"},
            )
            if response.status != 201:
                raise ScenarioError(
                    f"cannot create namespace {name}: {response.status} {response.data[:300]!r}"
                )
            self.namespaces.append(name)
        for number, step in enumerate(self.document.get("setup", []), 1):
            result = self.execute({"op": "request", "method": "POST", **step})
            wanted = range(200, 300) if "status" not in step else (step["status"],)
            if "status" in result and result["status"] not in wanted:
                raise ScenarioError(
                    f"setup step {number} answered {result['status']}: "
                    f"{json.dumps(result.get('body'))[:600]}"
                )
        self.normaliser.forget()

    def tear_down(self) -> None:
        """Close watches and delete what the run created; never raises."""
        for watch in self.watches.values():
            watch.close()
        newest_first = self.created[::-1]
        # webhooks before the rest: one of them may deny the deletions that follow
        newest_first.sort(key=lambda path: "/admissionregistration.k8s.io/" not in path)
        for path in newest_first:
            self._quietly(self._delete_object, path)
        for name in self.namespaces:
            self._quietly(self._delete_namespace, name)

    @staticmethod
    def _quietly(action: Any, argument: str) -> None:
        try:
            action(argument)
        except Exception as error:
            print(f"warning: cleaning up {argument}: {error}", file=sys.stderr)

    def _delete_object(self, path: str) -> None:
        options = json.dumps(
            {
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "gracePeriodSeconds": 0,
                "propagationPolicy": "Background",
            }
        ).encode()
        for _ in range(20):
            response = self.client.request(
                "DELETE", path, body=options, headers={"Content-Type": "application/json"}
            )
            if response.status != 403:
                break
            time.sleep(POLL_INTERVAL)  # a webhook just removed may still be known to the server
        body = response.json()
        if (
            response.status < 300
            and isinstance(body, dict)
            and (body.get("metadata") or {}).get("finalizers")
            and "/customresourcedefinitions/" not in path
        ):
            patch = b'{"metadata":{"finalizers":null}}'
            self.client.request(
                "PATCH", path, body=patch, headers={"Content-Type": "application/merge-patch+json"}
            )

    def _delete_namespace(self, name: str) -> None:
        path = f"/api/v1/namespaces/{name}"
        self.client.request("DELETE", path)

    def remember(self, method: str, path: str, status: int, body: Json) -> None:
        """Note an object that a request created, for tear-down."""
        if status != 201 or not isinstance(body, dict):
            return
        name = (body.get("metadata") or {}).get("name")
        if (
            method == "POST"
            and name
            and body.get("kind") not in ("Scale", "TokenReview", "SubjectAccessReview", "Status")
        ):
            if path == "/api/v1/namespaces":
                self.namespaces.append(name)
            else:
                self.created.append(f"{path}/{name}")
        elif method in ("PUT", "PATCH"):
            self.created.append(path)

    # -- steps

    def execute(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """Run one step and return its normalised result."""
        operation = step.get("op", "request")
        handler = getattr(self, f"op_{operation}", None)
        if handler is None:
            raise ScenarioError(f"unknown op {operation!r}")
        result: dict[str, Json] = handler(step)
        return result

    def send(self, step: Mapping[str, Json]) -> Response:
        """Send the request that a step describes."""
        body, headers = self.payload(step)
        method, path = step.get("method", "GET"), self.expand(step["path"])
        query = self.expand(step.get("query", {}))
        if "dryRun" not in query:
            response = self.client.request(method, path, query=query, headers=headers, body=body)
            self.remember(method, path, response.status, response.json())
            return response
        return self.client.request(method, path, query=query, headers=headers, body=body)

    def payload(self, step: Mapping[str, Json]) -> tuple[bytes | None, dict[str, str]]:
        """Encoded body and headers of a step."""
        headers = dict(self.expand(step.get("headers", {})))
        if "raw_body" in step:
            return self.expand(step["raw_body"]).encode(), headers
        if "body" not in step:
            return None, headers
        headers.setdefault("Content-Type", "application/json")
        return json.dumps(self.expand(step["body"])).encode(), headers

    def shape(self, step: Mapping[str, Json], document: Json) -> Json:
        """Apply a step's ``pick``, ``only``, ``ignore``, ``as_sets`` to a body, then normalise."""
        document = self.normaliser.hide_ages(json.loads(json.dumps(document)))
        for rule in step.get("pick", []):
            items = pointer_get(document, rule["pointer"])
            if isinstance(items, list):
                wanted = self.expand(rule["values"])
                items[:] = sorted(
                    (item for item in items if pointer_get(item, rule["key"]) in wanted),
                    key=lambda item: wanted.index(pointer_get(item, rule["key"])),
                )
        if "only" in step and not is_failure(document):
            document = {
                pointer: "<absent>"
                if (found := pointer_get(document, self.expand(pointer))) is MISSING
                else found
                for pointer in step["only"]
            }
            document = self._as_metadata(document)
        for pointer in step.get("ignore", []):
            pointer_delete(document, self.expand(pointer))
        for pointer in step.get("as_sets", []):
            for container, key in pointer_find(document, self.expand(pointer)):
                if isinstance(container[key], list):
                    container[key].sort(
                        key=lambda item: self.normaliser.unexpand(json.dumps(item, sort_keys=True))
                    )
        return self.normaliser.value(document)

    def _as_metadata(self, selected: dict[str, Json]) -> dict[str, Json]:
        """Turn bare resource versions that ``only`` selected into their symbols."""
        result = {}
        for pointer, found in selected.items():
            if (
                pointer.endswith("/metadata/resourceVersion")
                and isinstance(found, str)
                and found.isdigit()
            ):
                found = self.normaliser.version(found)
            elif pointer.endswith("/metadata/managedFields") and not isinstance(found, str):
                found = self.normaliser.metadata({"managedFields": found}, False).get(
                    "managedFields", []
                )
            result[pointer] = found
        return result

    def headers_of(
        self, step: Mapping[str, Json], headers: urllib3.HTTPHeaderDict
    ) -> dict[str, Json]:
        """The response headers that take part in the comparison."""
        ignored = {name.lower() for name in step.get("ignore_headers", [])}
        kept: dict[str, Json] = {}
        for name in HEADERS_KEPT:
            if name in headers and name not in ignored:
                kept[name] = self.normaliser.text(headers[name])
        if "warning" in headers and "warning" not in ignored:
            warnings = headers.getlist("warning")
            kept["warning"] = sorted(self.normaliser.text(item) for item in warnings)
        return kept

    def op_request(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """One request, one response."""
        response = self.send(step)
        document = response.json()
        self.save(step, document)
        result: dict[str, Json] = {
            "status": response.status,
            "headers": self.headers_of(step, response.headers),
        }
        if not step.get("ignore_body"):
            result["body"] = self.shape(step, document)
        return result

    def op_list_pages(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """Follow continue tokens to the end of a list and describe each page."""
        query = dict(self.expand(step.get("query", {})))
        pages: list[Json] = []
        versions: set[str] = set()
        while True:
            response = self.client.request(
                "GET",
                self.expand(step["path"]),
                query=query,
                headers=self.expand(step.get("headers", {})),
            )
            document = response.json()
            if response.status != 200:
                return {
                    "pages": pages,
                    "status": response.status,
                    "body": self.shape(step, document),
                }
            metadata = document["metadata"]
            versions.add(metadata.get("resourceVersion", ""))
            token = metadata.get("continue", "")
            page: dict[str, Json] = {
                "names": [
                    self.normaliser.text(item["metadata"]["name"]) for item in document["items"]
                ],
                "continue": bool(token),
            }
            if "remainingItemCount" in metadata:
                page["remainingItemCount"] = metadata["remainingItemCount"]
            pages.append(page)
            if not token or len(pages) > 1000:
                return {"pages": pages, "one_resource_version": len(versions) == 1}
            query["continue"] = token

    def op_wait_until(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """Repeat a request until its answer satisfies ``until``."""
        deadline = time.monotonic() + max(step.get("timeout", 0), self.wait)
        until = self.expand(step["until"])
        while True:
            response = self.send(step)
            document = response.json()
            if self._satisfied(until, response.status, document):
                self.save(step, document)
                result: dict[str, Json] = {"reached": True}
                if "only" in step:
                    result["body"] = self.shape(step, document)
                return result
            if time.monotonic() > deadline:
                if step.get("id"):
                    return {
                        "reached": False,
                        "status": response.status,
                        "body": self.normaliser.value(document),
                    }
                raise ScenarioError(
                    f"setup: {step['path']} never reached {until}; "
                    f"last answer {response.status} {response.data[:300]!r}"
                )
            time.sleep(POLL_INTERVAL)

    @staticmethod
    def _satisfied(until: Mapping[str, Json], status: int, document: Json) -> bool:
        if "status" in until and status != until["status"]:
            return False
        if "pointer" in until:
            found = pointer_get(document, until["pointer"])
            if "equals" in until:
                return bool(found == until["equals"])
            return (found is MISSING) == bool(until.get("absent"))
        return True

    def op_watch_open(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """Start a watch; a refusal is compared like any response."""
        query = {"watch": "true", **self.expand(step.get("query", {}))}
        raw = self.client.open(
            "GET",
            self.expand(step["path"]),
            query=query,
            headers=self.expand(step.get("headers", {})),
            timeout=120,
        )
        result: dict[str, Json] = {
            "status": raw.status,
            "headers": self.headers_of(step, raw.headers),
        }
        if raw.status == 200:
            self.watches[step["watch"]] = Watch(raw)
        else:
            result["body"] = self.shape(step, Response(raw.status, raw.headers, raw.read()).json())
            raw.release_conn()
        return result

    def op_watch_read(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """Read events: until ``count`` came or ``until_type`` was seen; else for ``wait`` seconds.

        Bookmarks are dropped unless ``bookmarks`` is true.  ``unordered`` sorts the
        events by type and name, for the initial state, whose order is unspecified.
        """
        watch = self._watch(step)
        count, until_type = step.get("count", 1 << 30), step.get("until_type")
        nothing_comes = "count" not in step and not until_type
        deadline = time.monotonic() + (step.get("wait", self.wait) if nothing_comes else self.wait)
        events: list[Json] = []
        while len(events) < count:
            event = watch.next(deadline - time.monotonic())
            if event is None:
                break
            if event.get("type") == "BOOKMARK" and not step.get("bookmarks"):
                continue
            events.append(event)
            if until_type and event.get("type") == until_type:
                break
        if step.get("unordered"):
            events.sort(key=self._event_key)
        self.save(step, events)
        versions = [
            int(found)
            for event in events
            if event.get("type") != "BOOKMARK"
            and str(found := pointer_get(event, "/object/metadata/resourceVersion")).isdigit()
        ]
        result: dict[str, Json] = {"events": [self._shape_event(step, event) for event in events]}
        if not step.get("unordered"):
            result["resource_versions_increase"] = all(
                a < b for a, b in itertools.pairwise(versions)
            )
        return result

    @staticmethod
    def _event_key(event: Json) -> tuple[bool, str, str, str]:
        metadata = pointer_get(event, "/object/metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        return (
            event.get("type") == "BOOKMARK",
            metadata.get("namespace", ""),
            metadata.get("name", ""),
            event.get("type", ""),
        )

    def _shape_event(self, step: Mapping[str, Json], event: Json) -> Json:
        if event.get("type") in ("ERROR", "BOOKMARK") or "object" not in event:
            return self.normaliser.value(event)
        shaped = self.shape(step, event["object"])
        return {"type": event["type"], "object": shaped}

    def op_watch_end(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """Wait for the server to end a watch; tell what still came and whether it ended cleanly."""
        watch = self._watch(step)
        deadline = time.monotonic() + self.wait
        events = []
        while not watch.ended and time.monotonic() < deadline:
            event = watch.next(deadline - time.monotonic())
            if event is not None and (event.get("type") != "BOOKMARK" or step.get("bookmarks")):
                events.append(self._shape_event(step, event))
        if step.get("bookmarks"):  # how many bookmarks come is the server's choice
            events = [
                event
                for index, event in enumerate(events)
                if index == 0 or event != events[index - 1]
            ]
        return {"ended": watch.ended, "clean": watch.clean, "events": events}

    def op_watch_close(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """Hang up a watch."""
        self._watch(step).close()
        return {"closed": True}

    def _watch(self, step: Mapping[str, Json]) -> Watch:
        try:
            return self.watches[step["watch"]]
        except KeyError:
            raise ScenarioError(f"watch {step.get('watch')!r} is not open") from None

    def op_assert(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """Relate saved values: increasing or not_decreasing (as integers), equal, different."""
        values = [self.expand(item) for item in step["values"]]
        relation = step["relation"]
        if relation in ("increasing", "not_decreasing"):
            numbers = [int(item) for item in values]
            pairs = list(itertools.pairwise(numbers))
            holds = (
                all(a < b for a, b in pairs)
                if relation == "increasing"
                else all(a <= b for a, b in pairs)
            )
        elif relation == "equal":
            holds = len(set(values)) == 1
        elif relation == "different":
            holds = len(set(values)) == len(values)
        else:
            raise ScenarioError(f"unknown relation {relation!r}")
        return {"relation": relation, "holds": holds}

    def op_sleep(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """Let time pass (for clocks with a resolution of one second)."""
        time.sleep(step["seconds"])
        return {}

    def op_webhook_calls(self, step: Mapping[str, Json]) -> dict[str, Json]:
        """Reviews that a hook received since the last such step, narrowed by where and last."""
        if self.webhook is None:
            raise ScenarioError("no webhook server")
        calls = self.webhook.calls.pop(f"/{self.variables['suffix']}/{step['hook']}", [])
        for pointer, wanted in step.get("where", {}).items():
            calls = [call for call in calls if pointer_get(call, pointer) == wanted]
        last = calls[-step["last"] :] if "last" in step else calls
        return {"calls": [self.shape(step, call) for call in last]}
