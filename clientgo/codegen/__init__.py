"""Code generation: from the documents that describe types to typed Python modules.

::

    OpenAPI documents (clientgo.schema) ──► openapi_types ──► clientgo/api/*.py

``hack/update-codegen`` writes what is generated and committed, ``hack/verify-codegen`` fails when
it is stale.
"""
