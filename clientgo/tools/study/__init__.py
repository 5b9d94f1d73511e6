"""A page on which a key travels through the loop of a controller: ``clientgo study``.

::

    target ─► session ─► recording ─► server ─► page/ (HTML, CSS, JavaScript)
    actions     │  ▲
                ▼  │ pause, step, slow motion
    the tracer: pacing, history, sources

``target`` is the sample controller, or the user's. ``session`` runs it beside an embedded API
server, ``recording`` keeps what happens, ``server`` serves it to ``page``, which also shows a
recording without a server.
"""
