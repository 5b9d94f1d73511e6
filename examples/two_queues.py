"""The same changes through DeltaFIFO and RealFIFO: what a consumer gets out of each."""

from clientgo.cache import DeltaFIFO, Deltas, RealFIFO, Replacement
from clientgo.meta import ObjectMeta, PartialObjectMetadata, object_key


def obj(name: str, version: int) -> PartialObjectMetadata:
    return PartialObjectMetadata(metadata=ObjectMeta(name=name, resource_version=str(version)))


def text(deltas: Deltas) -> str:
    parts = []
    for delta in deltas:
        if isinstance(delta.object, Replacement):
            what = ", ".join(repr(each) for each in delta.object.objects)
        else:
            what = getattr(delta.object, "key", None) or object_key(delta.object)
        parts.append(f"{delta.type} {what}")
    return " + ".join(parts)


def show(queue: DeltaFIFO | RealFIFO) -> None:
    print(type(queue).__name__)
    queue.add(obj("a", 1))
    queue.add(obj("b", 2))
    queue.update(obj("a", 3))
    queue.delete(obj("b", 4))
    queue.delete(obj("never-seen", 5))
    queue.replace([obj("a", 6), obj("c", 7)], "7")
    while queue.statistics().pending:
        queue.pop(lambda deltas, _initial: print("  ", text(deltas)))


if __name__ == "__main__":
    show(DeltaFIFO())
    show(RealFIFO())
