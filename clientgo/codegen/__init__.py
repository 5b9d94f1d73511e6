"""Code generation, in both directions.

::

    a project's classes ──► crd            ──► CustomResourceDefinitions
     (meta, meta.markers)   client_modules ──► clientset, informers, listers
                            rbac           ──► roles

    definitions, OpenAPI ──► type_sources ──► schema_types ──► classes
    the built-in groups  ──► openapi_types ──► clientgo/api/*.py

Programs do not need this package when they run; ``clientgo gen`` is its command. What the project
itself generates is written by ``hack/update-codegen``, and ``hack/verify-codegen`` fails when it is
stale.
"""
