"""Credentials that change while a program runs: token files, plugins, OpenID Connect."""
