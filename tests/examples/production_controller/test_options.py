"""The command line: its defaults are upstream's, and mistakes are one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from clientgo.leaderelection import USUAL_TIMING, Timing
from examples.production_controller import options
from examples.production_controller.options import Election, Options, parse_options


def test_the_options_of_the_original_have_its_defaults() -> None:
    """The resync and the workers, which are fixed upstream, can be chosen too."""
    assert parse_options([]) == Options(
        kubeconfig=None, master=None, namespace="", workers=2, resync=30.0, election=None
    )


def test_requests_are_limited_only_on_request() -> None:
    limited = parse_options(["--kube-api-qps=50", "--kube-api-burst=100"])

    assert (parse_options([]).qps, parse_options([]).burst) == (0.0, 0)
    assert (limited.qps, limited.burst) == (50.0, 100)


def test_endpoints_are_off_by_default() -> None:
    chosen = parse_options([])

    assert (chosen.health_probe_bind_address, chosen.metrics_bind_address) == ("", "")


def test_an_election_has_the_usual_durations_and_the_pods_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "namespace"
    own.write_text("mine\n")
    monkeypatch.setattr(options, "_OWN_NAMESPACE", own)

    assert parse_options(["--leader-elect"]).election == Election(
        namespace="mine", name="sample-controller", timing=USUAL_TIMING
    )


def test_everything_about_an_election_can_be_chosen() -> None:
    flags = {
        "resource-name": "n",
        "resource-namespace": "ns",
        "lease-duration": 6,
        "renew-deadline": 4,
        "retry-period": 1,
    }
    chosen = parse_options(
        ["--leader-elect", *(f"--leader-elect-{flag}={value}" for flag, value in flags.items())]
    )

    assert chosen.election == Election(
        namespace="ns",
        name="n",
        timing=Timing(lease_duration=6, renew_deadline=4, retry_period=1),
    )


def test_outside_of_a_pod_the_lease_is_in_the_default_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "_OWN_NAMESPACE", tmp_path / "nowhere")
    election = parse_options(["--leader-elect"]).election

    assert election is not None
    assert election.namespace == "default"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--nonsense", "unrecognized arguments: --nonsense"),
        ("--work 3", "unrecognized arguments: --work 3"),
        ("extra", "unrecognized arguments: extra"),
        ("--workers 0", "--workers must be at least 1"),
        ("--workers many", "argument --workers: invalid int value: 'many'"),
        ("--resync -1", "--resync must not be negative"),
        ("--kube-api-qps 5", "--kube-api-qps needs --kube-api-burst"),
        ("--resync nan", "--resync must not be negative"),
        ("--log-format xml", "invalid choice: 'xml'"),
        ("--leader-elect --leader-elect-lease-duration 5", "lease_duration (5.0 s) must be"),
        ("--processes 0", "--processes must be at least 1"),
        ("--shards -1", "--shards must not be negative"),
        ("--shards 4 --leader-elect", "--shards and --processes go without --leader-elect"),
        ("--shards 2 --processes 3", "--processes 3 needs at least as many --shards"),
    ],
)
def test_a_mistake_is_said_in_one_line(
    arguments: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parse_options(arguments.split())

    assert end.value.code == 2
    usage, error = capsys.readouterr().err.splitlines()
    assert usage == "usage: python -m examples.production_controller [--help] [OPTIONS]"
    assert said in error


def test_metrics_without_their_package_are_a_mistake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(options, "find_spec", lambda _: None)

    with pytest.raises(SystemExit):
        parse_options(["--metrics-bind-address=:8080"])
    assert "pip install 'clientgo[metrics]'" in capsys.readouterr().err


def test_processes_share_sixteen_shards_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert parse_options([]).shards == 0
    assert parse_options(["--processes", "2"]).shards == 16
    assert parse_options(["--processes", "2", "--shards", "4"]).shards == 4
    monkeypatch.setenv("CLIENTGO_PROCESS", "3")
    assert parse_options(["--metrics-bind-address=:8080"]).metrics_bind_address == ":8082"
