"""The types of the built-in API groups, one module a group and version.

::

    from clientgo.api.apps_v1 import Deployment, DeploymentSpec
    from clientgo.api.core_v1 import ConfigMap, Pod

The modules are generated (``hack/update-codegen``) and imported one at a time; importing this
package loads none. Each has a tuple ``RESOURCES`` of the kinds that it declares, from which
``Scheme(apps_v1.RESOURCES)`` makes a scheme. :mod:`clientgo.api.wire` says what ``None``, an empty
list and a quantity mean.
"""
