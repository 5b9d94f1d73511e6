"""Streams to running pods: commands, attached containers, ports, logs.

They are opened by a client of pods, see :class:`~clientgo.client.ResourceClient`: ``exec``,
``start_exec``, ``attach``, ``open_port``, ``port_forward``, ``logs``. This package has what these
return and raise. All but logs need the extra ``stream``.
"""

from clientgo.client.streams.log_lines import LogLines
from clientgo.client.streams.port_forward import PortForward, PortForwardError, PortStream
from clientgo.client.streams.remote_command import (
    CommandFailedError,
    ExecResult,
    Output,
    RemoteCommand,
)

__all__ = [
    # exec and attach
    "ExecResult",
    "CommandFailedError",
    "RemoteCommand",
    "Output",
    # ports
    "PortForward",
    "PortStream",
    "PortForwardError",
    # logs
    "LogLines",
]
