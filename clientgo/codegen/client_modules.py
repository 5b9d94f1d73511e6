"""Clients, informers and listers of a project's kinds, as modules that can be read.

Promises names that a type checker and an editor know: ``clientset.example_v1.foos("default")``,
``informers.example.v1.foos``, ``listers.example.v1.foos``, all over the generic classes, so that
the modules hold names and nothing else.

Does not promise layout: the caller lets a formatter break its lines.

Upstream (``code-generator``) writes an implementation for every kind; here generics do that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from clientgo.codegen.names import attribute_name, class_name
from clientgo.meta import GroupVersion, Resource, resource_of


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind as the modules name it."""

    name: str
    attribute: str
    group_version: GroupVersion
    namespaced: bool
    imported: str


@dataclass(frozen=True, slots=True)
class _Group:
    """The kinds of a group in each of its versions; ``name`` is how its attributes begin."""

    name: str
    group: str
    versions: dict[str, list[_Kind]]


def client_modules(kinds: Sequence[type[Resource]]) -> dict[str, str]:
    """The text of each module of a package by its name, for the kinds that it shall know.

    Raises ``TypeError`` for a class without ``@resource``.
    """
    names = _group_names({resource_of(cls).group for cls in kinds})
    groups = _groups(_named(kinds, names), names)
    imports = "".join(sorted({kind.imported for kind in _kinds(groups)}))
    first = groups[0]
    version, members = next(iter(first.versions.items()))
    example = f"{first.name}.{version}.{members[0].attribute}"
    client_example = f"{first.name}_{version}.{members[0].attribute}"
    namespaced = members[0].namespaced
    return {
        "__init__": _INIT,
        "clientset": _CLIENTSET.format(
            imports=imports,
            call=f'{client_example}("default")' if namespaced else f"{client_example}()",
            groups="".join(_clientset_group(group) for group in groups),
            classes="".join(_clientset_classes(groups)),
        ),
        "fake": _FAKE,
        "informers": _INFORMERS.format(
            imports=imports,
            example=example,
            groups="".join(_group_attribute(group) for group in groups),
            classes="".join(_factory_classes(groups, _INFORMER_PROPERTY)),
        ),
        "listers": _LISTERS.format(
            imports=imports,
            example=f'{example}.namespace("default")' if namespaced else example,
            groups="".join(_group_attribute(group) for group in groups),
            classes="".join(_factory_classes(groups, _LISTER_PROPERTY)),
        ),
    }


def _group_names(groups: Iterable[str]) -> dict[str, str]:
    """How attributes of each group begin: with the first part of its name, if no other has it."""
    first_parts = {group: group.partition(".")[0] or "core" for group in groups}
    taken = Counter(first_parts.values())
    return {
        group: attribute_name(part if taken[part] == 1 else group.replace(".", "_"))
        for group, part in first_parts.items()
    }


def _named(kinds: Iterable[type[Resource]], group_names: Mapping[str, str]) -> Iterator[_Kind]:
    kinds = sorted(kinds, key=lambda cls: resource_of(cls).gvr)
    taken = Counter(cls.__name__ for cls in kinds)
    for cls in kinds:
        declared = resource_of(cls)
        name, imported = cls.__name__, f"from {cls.__module__} import {cls.__name__}"
        if taken[name] > 1 or name in _OWN_NAMES:
            group = group_names[declared.group]
            name = f"{class_name(group)}{class_name(declared.version)}{name}"
            imported += f" as {name}"
        yield _Kind(
            name,
            attribute_name(declared.plural),
            GroupVersion(declared.group, declared.version),
            declared.namespaced,
            imported + "\n",
        )


def _groups(kinds: Iterable[_Kind], names: Mapping[str, str]) -> list[_Group]:
    by_group: dict[str, dict[str, list[_Kind]]] = {}
    for kind in kinds:
        group, version = kind.group_version
        by_group.setdefault(group, {}).setdefault(attribute_name(version), []).append(kind)
    return [_Group(names[group], group, versions) for group, versions in by_group.items()]


def _kinds(groups: Iterable[_Group]) -> Iterator[_Kind]:
    for group in groups:
        for kinds in group.versions.values():
            yield from kinds


def _clientset_group(group: _Group) -> str:
    return "".join(
        f"        self.{group.name}_{version} = {_class(group, version)}(client)\n"
        for version in group.versions
    )


def _clientset_classes(groups: Iterable[_Group]) -> Iterator[str]:
    for group in groups:
        for version, kinds in group.versions.items():
            yield _VERSION.format(
                name=_class(group, version),
                group_version=kinds[0].group_version,
                source="client",
                source_type="Client",
            )
            for kind in kinds:
                template = _NAMESPACED_CLIENT if kind.namespaced else _CLUSTER_CLIENT
                yield template.format(name=kind.name, attribute=kind.attribute)


def _group_attribute(group: _Group) -> str:
    return f"        self.{group.name} = {class_name(group.name)}Group(factory)\n"


def _factory_classes(groups: Iterable[_Group], property_: str) -> Iterator[str]:
    for group in groups:
        yield _GROUP.format(
            name=f"{class_name(group.name)}Group",
            group=group.group or "the core group",
            versions="".join(
                f"        self.{version} = {_class(group, version)}(factory)\n"
                for version in group.versions
            ),
        )
        for version, kinds in group.versions.items():
            yield _VERSION.format(
                name=_class(group, version),
                group_version=kinds[0].group_version,
                source="factory",
                source_type="SharedInformerFactory",
            )
            for kind in kinds:
                yield property_.format(name=kind.name, attribute=kind.attribute)


def _class(group: _Group, version: str) -> str:
    return class_name(group.name) + class_name(version)


_OWN_NAMES: Final = frozenset(
    {"Client", "Clientset", "Informers", "Lister", "Listers"}
    | {"ResourceClient", "ResourceInformer", "SharedInformerFactory"}
)
"""What the modules call their own; a kind of such a name gets a longer one."""

_NOTE: Final = "Generated by clientgo gen clients; changes are overwritten."

_INIT: Final = f'''"""The kinds of this project by name: clients, informers and listers.

::

    Clientset ──► ResourceClient[Foo]       reads and writes through the API
    Informers ──► SharedIndexInformer[Foo]  tells of changes, fills a cache
    Listers   ──► Lister[Foo]               reads that cache

{_NOTE}
"""

from .clientset import Clientset
from .informers import Informers
from .listers import Listers

__all__ = ["Clientset", "Informers", "Listers"]
'''

_CLIENTSET: Final = f'''"""Clients of this project's kinds.

{_NOTE}
"""

from __future__ import annotations

from clientgo.client import Client, ResourceClient

{{imports}}

class Clientset:
    """A typed client for each kind; it may be shared by all threads.

    ::

        clientset = Clientset(client)
        clientset.{{call}}.get("example")

    All work through ``client``, which stays open; its owner closes it.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
{{groups}}{{classes}}'''

_INFORMERS: Final = f'''"""Informers of this project's kinds.

{_NOTE}
"""

from __future__ import annotations

from clientgo.informers import ResourceInformer, SharedInformerFactory

{{imports}}

class Informers:
    """The informer of each kind, and the lister of its cache.

    ::

        informers = Informers(factory)
        foos = informers.{{example}}
        foos.informer.add_event_handler(on_add=enqueue)
        factory.start(stop)

    An informer is made when it is first asked for, and is then the same for everybody; ``factory``
    starts it and stops it.
    """

    def __init__(self, factory: SharedInformerFactory) -> None:
{{groups}}{{classes}}'''

_LISTERS: Final = f'''"""Listers of this project's kinds.

{_NOTE}
"""

from __future__ import annotations

from clientgo.cache import Lister
from clientgo.informers import SharedInformerFactory

{{imports}}

class Listers:
    """The lister of each kind: what only reads needs no more than these.

    ::

        listers = Listers(factory)
        listers.{{example}}.get("example")

    What they read is the cache of the kind's informer in ``factory``; it is shared and must not be
    changed.
    """

    def __init__(self, factory: SharedInformerFactory) -> None:
{{groups}}{{classes}}'''

_FAKE: Final = f'''"""A clientset of no server, for tests.

{_NOTE}
"""

from __future__ import annotations

from typing import Any

from clientgo.testing.fake_client import FakeClient

from .clientset import Clientset


class FakeClientset(Clientset):
    """A clientset that answers from the objects it is given, and remembers what it was asked.

    ``client`` holds both: its ``tracker`` the objects, its ``actions()`` the requests.
    """

    client: FakeClient

    def __init__(self, *objects: Any) -> None:
        super().__init__(FakeClient(*objects))
'''

_GROUP: Final = '''

class {name}:
    """The versions of {group}."""

    def __init__(self, factory: SharedInformerFactory) -> None:
{versions}'''

_VERSION: Final = '''

class {name}:
    """The kinds of {group_version}."""

    def __init__(self, {source}: {source_type}) -> None:
        self._{source} = {source}
'''

_NAMESPACED_CLIENT: Final = '''
    def {attribute}(self, namespace: str = "") -> ResourceClient[{name}]:
        """The client of {name} in a namespace; in all, without one."""
        return self._client.resource({name}).namespace(namespace)
'''

_CLUSTER_CLIENT: Final = '''
    def {attribute}(self) -> ResourceClient[{name}]:
        """The client of {name}, which is in no namespace."""
        return self._client.resource({name})
'''

_INFORMER_PROPERTY: Final = '''
    @property
    def {attribute}(self) -> ResourceInformer[{name}]:
        """The informer and the lister of {name}."""
        return ResourceInformer(
            self._factory.informer_for({name}), self._factory.lister_for({name})
        )
'''

_LISTER_PROPERTY: Final = '''
    @property
    def {attribute}(self) -> Lister[{name}]:
        """The lister of {name}."""
        return self._factory.lister_for({name})
'''
