"""Talking HTTP to an API server.

::

    load_config() ──► RestConfig ──► RestClient ──► Request ──► Result, Answer, HTTPWatchStream
     kubeconfig,                        │  limiter, retries
     in-cluster, URL                    ▼
                                  Transport ◄── HTTPTransport: connections, credentials, TLS

Most programs use :mod:`clientgo.client`, which has objects; this package has paths and bytes.
Failures are :class:`~clientgo.meta.StatusError` where the server answered and
:class:`TransportError` where it did not.
"""

from clientgo.rest.config.credentials import (
    ANONYMOUS,
    Credentials,
    Identity,
    StaticCredentials,
    basic_auth,
    bearer_token,
    client_certificate,
)
from clientgo.rest.config.in_cluster import in_cluster_config
from clientgo.rest.config.kubeconfig import Kubeconfig, load_kubeconfig, parse_kubeconfig
from clientgo.rest.config.loading import load_config, rest_config_of
from clientgo.rest.config.rest_config import ConfigError, Impersonation, RestConfig, TLSSettings
from clientgo.rest.config.user_agent import default_user_agent, user_agent
from clientgo.rest.errors import (
    ConnectionLostError,
    CredentialsError,
    RequestStoppedError,
    ServerRefusedError,
    ThrottledError,
    TLSError,
    TransportError,
    TransportTimeoutError,
    UnreachableError,
    UnreadableAnswerError,
)
from clientgo.rest.requests.request import Request, RequestError, Result
from clientgo.rest.requests.watch_stream import EndedWatch, HTTPWatchStream
from clientgo.rest.rest_client import RestClient, api_path, limiter_of, shared_limiter_of
from clientgo.rest.server_warnings import (
    WarningHandler,
    log_warning,
)
from clientgo.rest.transport.exchange import (
    Answer,
    Headers,
    RequestBody,
    Sending,
    Transport,
    whole_body,
)
from clientgo.rest.transport.http_transport import HTTPTransport
from clientgo.rest.transport.traced import traced_transport

__all__ = [
    # configuration
    "RestConfig",
    "TLSSettings",
    "Impersonation",
    "ConfigError",
    "load_config",
    "in_cluster_config",
    "Kubeconfig",
    "load_kubeconfig",
    "parse_kubeconfig",
    "rest_config_of",
    "Credentials",
    "Identity",
    "StaticCredentials",
    "ANONYMOUS",
    "bearer_token",
    "basic_auth",
    "client_certificate",
    "user_agent",
    "default_user_agent",
    # requests
    "RestClient",
    "Request",
    "Result",
    "Answer",
    "Headers",
    "RequestBody",
    "whole_body",
    "HTTPWatchStream",
    "EndedWatch",
    "Transport",
    "Sending",
    "HTTPTransport",
    "traced_transport",
    "limiter_of",
    "shared_limiter_of",
    "api_path",
    # failures
    "RequestError",
    "TransportError",
    "ServerRefusedError",
    "UnreachableError",
    "ConnectionLostError",
    "TransportTimeoutError",
    "TLSError",
    "CredentialsError",
    "UnreadableAnswerError",
    "RequestStoppedError",
    "ThrottledError",
    # warnings
    "WarningHandler",
    "log_warning",
]
