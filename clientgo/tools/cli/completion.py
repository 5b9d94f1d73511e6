"""``clientgo completion``: what a shell needs to complete the arguments of ``clientgo``.

The shell's part is a few lines that never change. They ask the program for the words that may come
next, which it finds in its own parsers, so every option is known as soon as it exists.
"""

from __future__ import annotations

import argparse
from typing import Final

from clientgo.util.text.completion import REQUEST
from clientgo.util.text.terminal import CommandParser

_SCRIPTS: Final = {
    "bash": f"""\
_clientgo() {{
    local IFS=$'\\n'
    COMPREPLY=($(clientgo {REQUEST} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null))
}}
complete -o default -F _clientgo clientgo
""",
    "zsh": f"""\
#compdef clientgo
_clientgo() {{
    local -a words_here
    words_here=("${{(@f)$(clientgo {REQUEST} "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
    if [[ -n $words_here[1] ]]; then compadd -a words_here; else _files; fi
}}
compdef _clientgo clientgo
""",
    "fish": f"""\
function __clientgo
    set -l before (commandline -opc)
    clientgo {REQUEST} $before[2..-1] (commandline -ct) 2>/dev/null
end
complete -c clientgo -a '(__clientgo)'
""",
}


def configure(parser: CommandParser) -> None:
    """Add the arguments; ``run`` is what an invocation calls."""
    parser.show_examples(
        "source <(clientgo completion bash)      in ~/.bashrc",
        "source <(clientgo completion zsh)       in ~/.zshrc, after compinit",
        "clientgo completion fish | source       in ~/.config/fish/config.fish",
    )
    parser.add_argument("shell", choices=list(_SCRIPTS), help="which shell")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    print(_SCRIPTS[options.shell], end="")
    return 0
