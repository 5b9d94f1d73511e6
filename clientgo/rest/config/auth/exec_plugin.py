"""Credentials that a program prints: the exec plugins of a kubeconfig.

Promises what client-go does: one run serves all requests that wait. Its token and certificate are
used together, until their `expirationTimestamp` or a 401. The plugin has the working directory and
the environment of this program, and the terminal only if it is interactive.

Differs from client-go: `renewed.py` and `exec_process.py` say how. Source: client-go
`plugin/pkg/client/auth/exec`.
"""

from __future__ import annotations

import os
import shutil
import signal
from typing import Any, Final

from clientgo.rest.config.auth.exec_credential import (
    V1,
    V1BETA1,
    cluster_info,
    exec_info,
    read_answer,
)
from clientgo.rest.config.auth.exec_process import Finished, one_line, run_plugin
from clientgo.rest.config.auth.renewed import Fresh, RenewedCredentials
from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.kubeconfig_types import Cluster, ExecPlugin
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.wait import StopEvent

_EXEC_INFO: Final = "KUBERNETES_EXEC_INFO"
_MODES: Final = ("Never", "IfAvailable", "Always")


def exec_credentials(
    plugin: ExecPlugin, cluster: Cluster, *, clock: Clock = REAL_CLOCK
) -> RenewedCredentials:
    """Return the credentials of a plugin, which is not run yet; raises :class:`ConfigError`."""
    source = _Plugin(plugin, cluster)
    return RenewedCredentials(source.run, source.name, clock=clock)


class _Plugin:
    """A plugin with what does not change from run to run."""

    def __init__(self, plugin: ExecPlugin, cluster: Cluster) -> None:
        _check(plugin)
        self.name = f"the credential plugin {plugin.command!r}"
        self._plugin = plugin
        self._mode = plugin.interactive_mode or "IfAvailable"
        self._cluster: dict[str, Any] | None = None
        if plugin.provide_cluster_info:
            self._cluster = cluster_info(cluster)

    def run(self, abandoned: StopEvent) -> Fresh:
        plugin = self._plugin
        path = self._path()
        interactive = self._is_interactive()
        environment = os.environ | {entry.name: entry.value for entry in plugin.env or ()}
        environment[_EXEC_INFO] = exec_info(
            plugin.api_version, interactive=interactive, cluster=self._cluster
        )
        try:
            finished = run_plugin(
                path,
                [plugin.command, *(plugin.args or ())],
                environment,
                interactive=interactive,
                abandoned=abandoned,
            )
        except (OSError, ValueError, RuntimeError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise self._failed(f"cannot be run: {reason}") from error
        if finished.status != 0:
            raise self._failed(_how_it_ended(finished))
        return read_answer(finished.output, plugin.api_version, self.name)

    def _path(self) -> str:
        """Return where the program is, by the rules of Go's `exec.LookPath`."""
        command = self._plugin.command
        found = shutil.which(command)
        if found is None:
            is_there = os.path.dirname(command) and os.path.exists(command)
            raise ConfigError(
                f"{self.name} is {'no executable file' if is_there else 'not installed'}",
                advice=self._advice("install it, or correct exec.command of the user"),
            )
        if not os.path.dirname(command) and not os.path.isabs(found):
            raise ConfigError(
                f"{self.name} was found in the working directory only, where it is not run from",
                advice="write its whole path into exec.command of the user",
            )
        return found

    def _is_interactive(self) -> bool:
        if self._mode == "Never":
            return False
        has_terminal = _is_terminal(0)
        if self._mode == "Always" and not has_terminal:
            raise ConfigError(
                f"{self.name} needs a terminal (interactiveMode: Always), and standard input is "
                "none",
                advice="run this program in a terminal, or use another user",
            )
        return has_terminal

    def _failed(self, problem: str) -> ConfigError:
        return ConfigError(
            f"{self.name} {problem}", advice=self._advice("run it yourself to see why")
        )

    def _advice(self, otherwise: str) -> str:
        return one_line(self._plugin.install_hint) or otherwise


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _how_it_ended(finished: Finished) -> str:
    if finished.status > 0:
        how = f"failed with exit status {finished.status}"
    else:
        number = -finished.status
        names = {int(each): each.name for each in signal.Signals}
        how = f"was killed by {names.get(number, f'signal {number}')}"
    return f"{how}: {finished.complaint}" if finished.complaint else f"{how} and said nothing"


def _check(plugin: ExecPlugin) -> None:
    """Refuse what kubectl refuses before it runs a plugin."""
    if not plugin.command:
        raise ConfigError("the user's exec has no command", advice="add the plugin to run")
    name = f"the credential plugin {plugin.command!r}"
    if plugin.api_version not in (V1, V1BETA1):
        found = f"the apiVersion {plugin.api_version!r}" if plugin.api_version else "no apiVersion"
        raise ConfigError(
            f"{name} has {found}",
            advice=f"write {V1} or {V1BETA1}, whichever it speaks, or update it",
        )
    if plugin.interactive_mode not in _MODES and (
        plugin.interactive_mode or plugin.api_version == V1
    ):
        found = repr(plugin.interactive_mode) if plugin.interactive_mode else "no interactiveMode"
        raise ConfigError(f"{name} has {found}", advice=f"write one of {', '.join(_MODES)}")
    if any(not entry.name for entry in plugin.env or ()):
        raise ConfigError(f"{name} has a variable without a name in its env", advice="name it")
