"""Credential plugins: how they are run, and what they may answer.

The plugins are shell scripts. What a table says of kubectl was read in client-go's
`plugin/pkg/client/auth/exec`.
"""

from __future__ import annotations

import codecs
import json
import os
import signal
import stat
import threading

import pytest

from clientgo.rest import ConfigError
from clientgo.rest.config.auth.exec_credential import V1, V1BETA1
from clientgo.rest.config.auth.exec_plugin import exec_credentials
from clientgo.rest.config.kubeconfig_types import Cluster, EnvironmentVariable, ExecPlugin
from clientgo.testing import FakeClock

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n"
CLUSTER = Cluster(server="https://example.test")
SECRET = "s3cret"
_TIMEOUT = 30.0


def answer(*, api_version: str = V1, kind: str = "ExecCredential", **status: str) -> str:
    return json.dumps({"apiVersion": api_version, "kind": kind, "status": status})


@pytest.fixture
def runs(tmp_path):
    """A file with a line for each run."""
    return tmp_path / "runs"


@pytest.fixture
def plugin(tmp_path):
    """Make a plugin of a shell script."""

    def make(script: str, **fields) -> ExecPlugin:
        path = tmp_path / "plugin"
        path.write_text(f"#!/bin/sh\necho run >>{tmp_path}/runs\n{script}\n")
        path.chmod(0o755)
        given = {"api_version": V1, "interactive_mode": "Never", "command": str(path)} | fields
        return ExecPlugin(**given)

    return make


@pytest.fixture
def printing(tmp_path, plugin):
    """Make a plugin that prints what is in a file."""

    def make(output: str | bytes, **fields) -> ExecPlugin:
        content = output.encode() if isinstance(output, str) else output
        (tmp_path / "answer").write_bytes(content)
        return plugin(f"cat {tmp_path}/answer", **fields)

    return make


def count(runs) -> int:
    return len(runs.read_text().splitlines()) if runs.exists() else 0


# What is answered


ACCEPTED = {
    "a token": (answer(token="t"), ("Bearer t", "", "")),
    "a certificate": (
        answer(clientCertificateData=CERTIFICATE, clientKeyData=KEY),
        ("", CERTIFICATE, KEY),
    ),
    "both": (
        answer(token="t", clientCertificateData=CERTIFICATE, clientKeyData=KEY),
        ("Bearer t", CERTIFICATE, KEY),
    ),
    "YAML": (
        f"apiVersion: {V1}\nkind: ExecCredential\nstatus: {{token: t}}\n",
        ("Bearer t", "", ""),
    ),
    "a byte order mark": (codecs.BOM_UTF8 + answer(token="t").encode(), ("Bearer t", "", "")),
    "UTF-16": (answer(token="t").encode("utf-16"), ("Bearer t", "", "")),
    "unknown fields": (
        json.dumps({"apiVersion": V1, "status": {"token": "t", "new": [1]}, "spec": {}}),
        ("Bearer t", "", ""),
    ),
    "no kind": (json.dumps({"apiVersion": V1, "status": {"token": "t"}}), ("Bearer t", "", "")),
    "nulls": (
        json.dumps(
            {
                "apiVersion": V1,
                "kind": "ExecCredential",
                "status": {"token": "t", "clientKeyData": None, "expirationTimestamp": None},
            }
        ),
        ("Bearer t", "", ""),
    ),
}


@pytest.mark.parametrize(("output", "expected"), ACCEPTED.values(), ids=list(ACCEPTED))
def test_what_client_go_takes_is_taken(printing, output, expected):
    identity = exec_credentials(printing(output), CLUSTER).current()

    assert (identity.authorization, identity.cert_data, identity.key_data) == expected


REFUSED = {
    "nothing": ("", "printed nothing"),
    "a word": (SECRET, "printed no ExecCredential: Expected `object`, got `str`"),
    "half of a JSON text": ('{"token": "' + SECRET, "printed neither JSON nor YAML"),
    "bytes that are not UTF-8": (
        b'{"token": "\xff' + SECRET.encode(),
        "printed neither JSON nor YAML",
    ),
    "a list": ("[]", "printed no ExecCredential: Expected `object`, got `array`"),
    "a number as token": (
        json.dumps({"apiVersion": V1, "status": {"token": 5}}),
        "printed no ExecCredential: Expected `str | null`, got `int` - at `$.status.token`",
    ),
    "another kind": (
        answer(kind="TokenReview", token=SECRET),
        "printed a TokenReview, not an ExecCredential",
    ),
    "another version": (
        answer(api_version=V1BETA1, token=SECRET),
        f"answered with {V1BETA1}, but the kubeconfig asks for {V1}",
    ),
    "no version": (
        json.dumps({"kind": "ExecCredential", "status": {"token": SECRET}}),
        f"answered with no apiVersion, but the kubeconfig asks for {V1}",
    ),
    "no status": (json.dumps({"apiVersion": V1}), "answered without a status"),
    "an empty status": (answer(), "gave neither a token nor a certificate"),
    "a certificate without a key": (
        answer(clientCertificateData=CERTIFICATE),
        "gave a certificate without a key, or a key without a certificate",
    ),
    "a key without a certificate": (
        answer(token=SECRET, clientKeyData=KEY),
        "gave a certificate without a key, or a key without a certificate",
    ),
    "no PEM": (
        answer(clientCertificateData=SECRET, clientKeyData=KEY),
        "gave a certificate or key that is no PEM",
    ),
    "a time that is none": (
        answer(token=SECRET, expirationTimestamp="soon"),
        "gave an expirationTimestamp that is none: 'soon'",
    ),
}


@pytest.mark.parametrize(("output", "problem"), REFUSED.values(), ids=list(REFUSED))
def test_what_client_go_refuses_is_refused_without_its_secrets(printing, output, problem):
    configured = printing(output)

    with pytest.raises(ConfigError) as caught:
        exec_credentials(configured, CLUSTER).current()
    assert str(caught.value) == (
        f"the credential plugin {configured.command!r} {problem}; "
        "run it yourself to see what it prints"
    )
    assert SECRET not in repr((caught.value, caught.value.__cause__, caught.value.__context__))


def test_a_token_with_a_line_break_is_refused(printing):
    """Go refuses the header; here it must not forge another one."""
    with pytest.raises(ConfigError, match="line breaks"):
        exec_credentials(printing(answer(token="a\r\nX: b")), CLUSTER).current()


def test_more_output_than_any_credential_has_ends_the_plugin(plugin):
    with pytest.raises(ConfigError, match="printed more than 1048576 bytes"):
        exec_credentials(plugin("exec cat /dev/zero"), CLUSTER).current()


# How it is run


def said_in_its_token(script: str) -> str:
    return f"""token=$({script})
printf '{{"apiVersion": "{V1}", "status": {{"token": "%s"}}}}' "$token" """


def token_of(configured: ExecPlugin, cluster: Cluster = CLUSTER) -> str:
    return exec_credentials(configured, cluster).current().authorization.removeprefix("Bearer ")


def test_a_plugin_gets_its_arguments_and_the_environment_of_the_program(plugin, monkeypatch):
    monkeypatch.setenv("OURS", "ours")
    monkeypatch.setenv("BOTH", "ours")
    configured = plugin(
        said_in_its_token('echo "$1,$OURS,$BOTH,$EMPTY,$PWD"'),
        args=["one"],
        env=[
            EnvironmentVariable(name="BOTH", value="theirs"),
            EnvironmentVariable(name="BOTH", value="last"),
            EnvironmentVariable(name="EMPTY"),
        ],
    )

    assert token_of(configured) == f"one,ours,last,,{os.getcwd()}"


def test_a_bare_name_is_looked_up_in_path(plugin, tmp_path, monkeypatch):
    plugin(said_in_its_token("echo t"))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    assert token_of(ExecPlugin(command="plugin", api_version=V1, interactive_mode="Never")) == "t"


@pytest.mark.parametrize("path", ["", ".", "./"])
def test_a_program_of_the_working_directory_is_not_run_by_its_bare_name(
    plugin, tmp_path, monkeypatch, path, runs
):
    """Go: exec.ErrDot."""
    plugin(said_in_its_token("echo t"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{path}{os.pathsep}{os.environ['PATH']}")

    with pytest.raises(ConfigError, match="in the working directory only"):
        token_of(ExecPlugin(command="plugin", api_version=V1, interactive_mode="Never"))
    assert count(runs) == 0


def test_a_plugin_is_told_of_the_cluster_if_it_wants_to(plugin, tmp_path):
    authority = tmp_path / "ca.crt"
    authority.write_text("PEM")
    cluster = Cluster(
        server="https://example.test:6443",
        tls_server_name="other.test",
        certificate_authority=str(authority),
        proxy_url="http://proxy.test",
        disable_compression=True,
        extensions=[
            {"name": "other", "extension": {"a": 1}},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}},
        ],
    )
    script = f'printf %s "$KUBERNETES_EXEC_INFO" >{tmp_path}/info\n' + said_in_its_token("echo t")

    exec_credentials(plugin(script, provide_cluster_info=True), cluster).current()

    assert json.loads((tmp_path / "info").read_text()) == {
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {
            "interactive": False,
            "cluster": {
                "server": "https://example.test:6443",
                "tls-server-name": "other.test",
                "certificate-authority-data": "UEVN",
                "proxy-url": "http://proxy.test",
                "disable-compression": True,
                "config": {"audience": "x"},
            },
        },
    }


def test_a_plugin_is_told_nothing_of_the_cluster_otherwise(plugin, tmp_path):
    script = f'printf %s "$KUBERNETES_EXEC_INFO" >{tmp_path}/info\n' + said_in_its_token("echo t")

    exec_credentials(plugin(script), CLUSTER).current()

    assert json.loads((tmp_path / "info").read_text())["spec"] == {"interactive": False}


def test_a_certificate_authority_that_cannot_be_read_is_refused_when_it_is_loaded(plugin):
    with pytest.raises(ConfigError, match="certificate authority cannot be read"):
        exec_credentials(
            plugin("", provide_cluster_info=True), Cluster(certificate_authority="/none")
        )


MODES = {
    # mode, version, standard input is a terminal -> spec.interactive
    ("Never", V1, True): "false",
    ("IfAvailable", V1, True): "true",
    ("IfAvailable", V1, False): "false",
    ("Always", V1, True): "true",
    ("", V1BETA1, True): "true",
    ("", V1BETA1, False): "false",
}


@pytest.mark.parametrize(("case", "expected"), MODES.items())
def test_standard_input_is_for_interactive_plugins_with_a_terminal(
    plugin, monkeypatch, case, expected, tmp_path
):
    mode, version, has_terminal = case
    controller, terminal = os.openpty()
    given = terminal if has_terminal else os.open(os.devnull, os.O_RDONLY)
    saved = os.dup(0)
    os.dup2(given, 0)
    try:
        script = f"""test -t 0 && terminal=true || terminal=false
printf %s "$KUBERNETES_EXEC_INFO" >{tmp_path}/info
printf '{{"apiVersion": "{version}", "status": {{"token": "%s"}}}}' "$terminal" """
        seen = token_of(plugin(script, interactive_mode=mode, api_version=version))
    finally:
        os.dup2(saved, 0)
        for descriptor in (controller, terminal, saved):
            os.close(descriptor)

    told = json.loads((tmp_path / "info").read_text())["spec"]["interactive"]
    assert (seen, json.dumps(told)) == (expected, expected)


def test_a_plugin_that_must_ask_the_user_is_refused_without_a_terminal(plugin, runs):
    with open(os.devnull) as nothing:
        saved = os.dup(0)
        os.dup2(nothing.fileno(), 0)
        try:
            with pytest.raises(ConfigError, match="needs a terminal"):
                token_of(plugin("", interactive_mode="Always"))
        finally:
            os.dup2(saved, 0)
            os.close(saved)
    assert count(runs) == 0


ENTRIES = {
    "no command": (
        {"command": ""},
        "the user's exec has no command; add the plugin to run",
    ),
    "v1alpha1": (
        {"api_version": "client.authentication.k8s.io/v1alpha1"},
        "the credential plugin 'p' has the apiVersion 'client.authentication.k8s.io/v1alpha1'; "
        f"write {V1} or {V1BETA1}, whichever it speaks, or update it",
    ),
    "no version": (
        {"api_version": ""},
        "the credential plugin 'p' has no apiVersion; "
        f"write {V1} or {V1BETA1}, whichever it speaks, or update it",
    ),
    "v1 without a mode": (
        {"interactive_mode": ""},
        "the credential plugin 'p' has no interactiveMode; write one of Never, IfAvailable, Always",
    ),
    "another mode": (
        {"interactive_mode": "never"},
        "the credential plugin 'p' has 'never'; write one of Never, IfAvailable, Always",
    ),
    "a variable without a name": (
        {"env": [EnvironmentVariable(name="")]},
        "the credential plugin 'p' has a variable without a name in its env; name it",
    ),
}


@pytest.mark.parametrize(("fields", "problem"), ENTRIES.values(), ids=list(ENTRIES))
def test_an_entry_that_kubectl_refuses_is_refused_when_it_is_loaded(fields, problem):
    given = {"command": "p", "api_version": V1, "interactive_mode": "Never"} | fields

    with pytest.raises(ConfigError) as caught:
        exec_credentials(ExecPlugin(**given), CLUSTER)
    assert str(caught.value) == problem


# How it fails


FAILURES = {
    "an exit status": (
        "echo 'log in\n first' >&2; exit 3",
        "failed with exit status 3: log in first",
    ),
    "a silent one": ("exit 1", "failed with exit status 1 and said nothing"),
    "a signal": ("kill -9 $$", "was killed by SIGKILL and said nothing"),
    "terminal escapes": (
        r"printf '\033[31mred' >&2; exit 1",
        r"failed with exit status 1: \x1b[31mred",
    ),
    "an answer beside it": (
        f"echo '{answer(token=SECRET)}'; exit 1",
        "failed with exit status 1 and said nothing",
    ),
}


@pytest.mark.parametrize(("script", "problem"), FAILURES.values(), ids=list(FAILURES))
def test_a_failure_says_what_the_plugin_said(plugin, script, problem):
    configured = plugin(script)

    with pytest.raises(ConfigError) as caught:
        exec_credentials(configured, CLUSTER).current()
    assert str(caught.value) == (
        f"the credential plugin {configured.command!r} {problem}; run it yourself to see why"
    )


def test_only_the_end_of_what_a_failing_plugin_says_is_kept(plugin):
    with pytest.raises(ConfigError) as caught:
        token_of(plugin("yes word | head -c 100000 >&2; echo reason >&2; exit 1"))
    assert "word reason;" in str(caught.value)
    assert len(str(caught.value)) < 3000


def test_a_plugin_speaks_to_the_user_on_stderr(plugin, capsys):
    token_of(plugin("echo 'open a browser' >&2\n" + said_in_its_token("echo t")))

    assert capsys.readouterr().err == "open a browser\n"


MISSING = {
    "a bare name": "no-such-plugin",
    "a path": "/none/no-such-plugin",
}


@pytest.mark.parametrize("command", MISSING.values(), ids=list(MISSING))
def test_a_plugin_that_is_missing_says_how_it_is_installed(command):
    configured = ExecPlugin(
        command=command,
        api_version=V1,
        interactive_mode="Never",
        install_hint="Install it:\n  \x1b[1mapt install p",
    )

    with pytest.raises(ConfigError) as caught:
        token_of(configured)
    assert str(caught.value) == (
        f"the credential plugin {command!r} is not installed; Install it: \\x1b[1mapt install p"
    )


def test_a_file_that_cannot_be_executed_is_not_called_missing(plugin, tmp_path):
    configured = plugin("")
    (tmp_path / "plugin").chmod(stat.S_IRUSR)

    with pytest.raises(ConfigError, match="is no executable file; install it, or correct"):
        token_of(configured)


def test_a_file_that_the_system_cannot_run_is_an_error(plugin, tmp_path):
    configured = plugin("")
    (tmp_path / "plugin").write_bytes(b"\x7fELF nothing")

    with pytest.raises(ConfigError, match="cannot be run: Exec format error"):
        token_of(configured)


def test_a_zero_byte_in_an_argument_is_an_error(plugin):
    with pytest.raises(ConfigError, match="cannot be run: embedded null byte"):
        token_of(plugin("", args=["a\0b"]))


# How long it is used

EXPIRATIONS = {
    # expirationTimestamp -> seconds for which it is used
    "2000-01-01T00:00:01Z": 1,
    "2000-01-01T01:00:00+01:00": 0,
    "2000-01-02T00:00:00.5Z": 86400,
    "2010-01-01T00:00:00Z": 3653 * 86400,
}


@pytest.mark.parametrize(("expiration", "seconds"), EXPIRATIONS.items())
def test_credentials_are_used_until_they_expire(printing, runs, expiration, seconds):
    """FIELD-63: neither less than it says, nor longer. The clock stands at the year 2000."""
    clock = FakeClock()
    configured = printing(answer(token="t", expirationTimestamp=expiration))
    credentials = exec_credentials(configured, CLUSTER, clock=clock)
    credentials.current()
    clock.step(seconds)
    credentials.current()
    assert count(runs) == 1

    clock.step(1)
    credentials.current()
    assert count(runs) == 2


@pytest.mark.parametrize("expiration", [{}, {"expirationTimestamp": "0001-01-01T00:00:00Z"}])
def test_credentials_without_a_time_are_used_until_they_are_refused(printing, runs, expiration):
    clock = FakeClock()
    credentials = exec_credentials(printing(answer(token="t", **expiration)), CLUSTER, clock=clock)
    credentials.current()
    clock.step(10**9)
    identity = credentials.current()
    assert count(runs) == 1

    printing(answer(token="u"))
    assert credentials.renew(identity)
    assert credentials.current().authorization == "Bearer u"
    assert count(runs) == 2


def test_a_plugin_that_gives_the_refused_token_again_leaves_nothing_to_try(printing):
    credentials = exec_credentials(printing(answer(token="t")), CLUSTER)

    assert not credentials.renew(credentials.current())


def test_token_and_certificate_are_always_of_the_same_run(plugin, tmp_path):
    script = f"""n=$(wc -l <{tmp_path}/runs | tr -d ' ')
cat <<END
{{"apiVersion": "{V1}", "status": {{"token": "$n", "clientKeyData": "-----BEGIN KEY-----$n",
"clientCertificateData": "-----BEGIN CERTIFICATE-----$n"}}}}
END"""
    credentials = exec_credentials(plugin(script), CLUSTER)
    identity = credentials.current()
    for expected in ("2", "3"):
        assert credentials.renew(identity)
        identity = credentials.current()
        assert identity.authorization == f"Bearer {expected}"
        assert identity.cert_data.endswith(f"-{expected}")
        assert identity.key_data.endswith(f"-{expected}")


# What a plugin leaves behind, and how it is ended


def test_a_process_that_has_inherited_stdout_does_not_hold_up_the_answer(plugin, tmp_path):
    """FIELD-64: client-go waits for it."""
    script = f"sleep 600 & echo $! >{tmp_path}/pid\n" + said_in_its_token("echo t")
    try:
        assert token_of(plugin(script)) == "t"
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_stop_ends_a_plugin_that_hangs_and_its_children(plugin, tmp_path, monkeypatch):
    """FIELD-65: client-go waits for it."""
    monkeypatch.setattr("clientgo.rest.config.auth.exec_process._has_terminal", lambda: False)
    os.mkfifo(tmp_path / "held")
    credentials = exec_credentials(
        plugin(f"(sleep 600) 3>{tmp_path}/held 1>&3 &\nsleep 600 3>&- "), CLUSTER
    )
    stop = threading.Event()
    errors = []

    def ask() -> None:
        try:
            credentials.current(stop)
        except ConfigError as error:
            errors.append(str(error))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    with open(tmp_path / "held") as held:  # open returns once the child has it
        stop.set()
        thread.join(_TIMEOUT)
        assert held.read() == ""  # and ends once the child has

    assert not thread.is_alive()
    assert errors == [
        f"stopped while waiting for the credential plugin '{tmp_path}/plugin'; start again"
    ]
