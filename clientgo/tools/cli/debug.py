"""``clientgo debug``: what goes on in a program, and what one object waits for.

::

    clientgo debug http://127.0.0.1:8080                 everything: queues, informers, stacks
    clientgo debug http://127.0.0.1:8080 default/a       why nothing happens for default/a

The program serves :mod:`clientgo.observe.debug`: ``Manager(debug=True)`` or
``ControlLoop(debug=True)``.
"""

from __future__ import annotations

import argparse
import ssl
import sys
from pathlib import Path
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from clientgo.observe.debug import DEBUG_PATH
from clientgo.util.certificates import client_context
from clientgo.util.text.escapes import escaped_lines
from clientgo.util.text.terminal import CommandParser, complain

_TIMEOUT: Final = 30.0


def configure(parser: CommandParser) -> None:
    """Add the arguments; ``run`` is what an invocation calls."""
    parser.show_examples(
        "clientgo debug http://127.0.0.1:8080",
        "clientgo debug http://127.0.0.1:8080 default/my-object",
        "clientgo debug :8080 default/my-object --json",
        "kubectl port-forward deployment/my-operator 8080 & clientgo debug :8080",
        statuses="0; 1, no answer, or none that is a debug page; 2, wrong use",
    )
    parser.add_argument("url", metavar="URL", help="the program's metrics server, or :PORT")
    parser.add_argument("key", metavar="KEY", nargs="?", default="", help="NAMESPACE/NAME or NAME")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--token-file", metavar="PATH", help="for secure metrics: a bearer token")
    parser.add_argument("--insecure", action="store_true", help="accept any certificate")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    try:
        sys.stdout.write(escaped_lines(_page(options)))
    except HTTPError as error:
        reason = error.read().decode(errors="replace").strip()
        if error.code == 404:
            reason = "no debug page here; start the program with debug=True"
        complain("clientgo debug", f"{options.url}: {reason or error}")
        return 1
    except (OSError, ValueError) as error:
        why = error.reason if isinstance(error, URLError) else error
        if isinstance(why, ConnectionRefusedError):
            why = "connection refused; is the program running, and is this its metrics address?"
        complain("clientgo debug", f"{options.url}: {why}")
        return 1
    return 0


def _page(options: argparse.Namespace) -> str:
    url = f"127.0.0.1{options.url}" if options.url.startswith(":") else options.url
    url = url if "://" in url else f"http://{url}"
    if not urlsplit(url).path.strip("/"):
        url = url.rstrip("/") + DEBUG_PATH
    headers = {"Accept": "application/json" if options.json else "text/plain"}
    if options.token_file:
        headers["Authorization"] = f"Bearer {Path(options.token_file).read_text().strip()}"
    tls = client_context()
    if options.insecure:
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    request = Request(f"{url.rstrip('/')}/{quote(options.key)}".rstrip("/"), headers=headers)
    with urlopen(request, timeout=_TIMEOUT, context=tls) as response:
        text: str = response.read().decode()
    return text if text.endswith("\n") else f"{text}\n"
