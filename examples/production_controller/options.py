"""The command line: its options, and errors that are found before anything starts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from clientgo.leaderelection import USUAL_TIMING, Timing
from clientgo.sharding import address_of_process
from sample_controller.controller import NAME

DEFAULT_SHARDS = 16

_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""The file with the namespace of the pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """The Lease of the election, or of those who share the work, and its durations."""

    namespace: str
    name: str = NAME
    timing: Timing = USUAL_TIMING

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command line. Without an ``election`` this process works without a Lease; with ``shards``
    the processes with the same Lease share the Foos, and all of them work."""

    kubeconfig: str | None = None
    master: str | None = None
    qps: float = 0.0
    burst: int = 0
    namespace: str = ""
    workers: int = 2
    resync: float = 30.0
    election: Election | None = None
    shards: int = 0
    processes: int = 1
    health_probe_bind_address: str = ""
    metrics_bind_address: str = ""
    verbose: bool = False
    log_json: bool = False
    trace: bool = False
    trace_json: Path | None = None


def parse_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line; a mistake is printed and exits with status 2."""
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.workers < 1:
        parser.error("--workers must be at least 1")
    if not args.resync >= 0:
        parser.error("--resync must not be negative")
    if args.kube_api_qps > 0 and args.kube_api_burst < 1:
        parser.error("--kube-api-qps needs --kube-api-burst, for example twice as large")
    if args.metrics_bind_address and find_spec("prometheus_client") is None:
        parser.error(
            "--metrics-bind-address needs prometheus-client: pip install 'clientgo[metrics]'"
        )
    if args.processes < 1:
        parser.error("--processes must be at least 1")
    if args.shards < 0:
        parser.error("--shards must not be negative")
    shards = args.shards or (DEFAULT_SHARDS if args.processes > 1 else 0)
    if shards and args.leader_elect:
        parser.error("--shards and --processes go without --leader-elect: all processes work")
    if args.processes > shards > 0:
        parser.error(f"--processes {args.processes} needs at least as many --shards")
    try:
        election = _election(args) if args.leader_elect or shards else None
    except ValueError as error:
        parser.error(f"--leader-elect: {error}")
    return Options(
        kubeconfig=args.kubeconfig,
        master=args.master,
        qps=args.kube_api_qps,
        burst=args.kube_api_burst,
        namespace=args.namespace,
        workers=args.workers,
        resync=args.resync,
        election=election,
        shards=shards,
        processes=args.processes,
        health_probe_bind_address=address_of_process(args.health_probe_bind_address),
        metrics_bind_address=address_of_process(args.metrics_bind_address),
        verbose=args.verbose,
        log_json=args.log_format == "json",
        trace=args.trace,
        trace_json=args.trace_json,
    )


def _election(args: argparse.Namespace) -> Election:
    return Election(
        namespace=args.leader_elect_resource_namespace or _own_namespace(),
        name=args.leader_elect_resource_name,
        timing=Timing(
            lease_duration=args.leader_elect_lease_duration,
            renew_deadline=args.leader_elect_renew_deadline,
            retry_period=args.leader_elect_retry_period,
        ),
    )


def _own_namespace() -> str:
    try:
        return _OWN_NAMESPACE.read_text(encoding="utf-8").strip()
    except OSError:
        return "default"  # not in a pod


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="production_controller",
        usage="python -m examples.production_controller [--help] [OPTIONS]",
        description="Keeps one Deployment per Foo at the replicas that the Foo asks for.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--kubeconfig", metavar="PATH", help="kubeconfig; else $KUBECONFIG, else in-cluster")
    add("--master", metavar="URL", help="API server; overrides the kubeconfig's")
    add("--kube-api-qps", type=float, default=0.0, metavar="N",
        help="limit requests per second (default: no limit)")  # fmt: skip
    add("--kube-api-burst", type=int, default=0, metavar="N",
        help="requests that may exceed --kube-api-qps for a moment")  # fmt: skip
    add("--namespace", default="", metavar="NS", help="watch one namespace (default: all)")
    add("--workers", type=int, default=2, metavar="N", help="worker threads (default: 2)")
    add("--resync", type=float, default=30.0, metavar="SECONDS",
        help="seconds between resyncs (default: 30)")  # fmt: skip
    add("-v", "--verbose", action="store_true", help="log every step")
    add("--log-format", choices=("text", "json"), default="text", help="(default: text)")
    add("--trace", action="store_true", help="print every hop of a key through the loop")
    add("--trace-json", type=Path, metavar="FILE",
        help="write them for https://ui.perfetto.dev")  # fmt: skip

    add = parser.add_argument_group("endpoints, off by default").add_argument
    add("--health-probe-bind-address", default="", metavar="HOST:PORT",
        help="serve /healthz and /readyz; without a host on all addresses")  # fmt: skip
    add("--metrics-bind-address", default="", metavar="HOST:PORT", help="serve /metrics")

    add = parser.add_argument_group("several processes: they meet at a Lease").add_argument
    add("--leader-elect", action="store_true", help="work only while holding the Lease")
    add("--shards", type=int, default=0, metavar="N",
        help="share the Foos, in so many parts, with the other processes: all work")  # fmt: skip
    add("--processes", type=int, default=1, metavar="N",
        help="start so many processes that share the Foos, for more than one core; each next "
        f"serves one port higher (default: 1; --shards {DEFAULT_SHARDS})")  # fmt: skip
    add("--leader-elect-resource-name", default=NAME, metavar="NAME",
        help=f"the Lease (default: {NAME})")  # fmt: skip
    add("--leader-elect-resource-namespace", default="", metavar="NS",
        help="where the Lease is (default: the pod's own namespace)")  # fmt: skip
    for name, default, what in (
        (
            "lease-duration",
            USUAL_TIMING.lease_duration,
            "a leader that did not renew is replaced",
        ),
        ("renew-deadline", USUAL_TIMING.renew_deadline, "a leader that cannot renew stops"),
        ("retry-period", USUAL_TIMING.retry_period, "candidates try again"),
    ):
        add(f"--leader-elect-{name}", type=float, default=default, metavar="SECONDS",
            help=f"seconds after which {what} (default: {default:g})")  # fmt: skip
    return parser
