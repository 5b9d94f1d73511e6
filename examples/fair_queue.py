"""One key beside 10,000 of another namespace: how long it waits, with and without fairness."""

from clientgo.meta import ObjectName
from clientgo.workqueue import PriorityQueue


def fill(queue: PriorityQueue[ObjectName]) -> None:
    for number in range(10_000):
        queue.add(ObjectName("busy", f"object-{number}"))
    queue.add(ObjectName("quiet", "one"))


def keys_before_the_quiet_one(queue: PriorityQueue[ObjectName]) -> int:
    queue.shut_down()  # `items` ends when all that was added has been taken
    return [key.namespace for key in queue.items()].index("quiet")


if __name__ == "__main__":
    first_come: PriorityQueue[ObjectName] = PriorityQueue()
    fair = PriorityQueue[ObjectName](fair_by=lambda key: key.namespace)
    for queue in (first_come, fair):
        fill(queue)
    print("ready:", fair.flow_depths())
    print("first come, first served:", keys_before_the_quiet_one(first_come), "keys before it")
    print("fair by namespace:", keys_before_the_quiet_one(fair), "key before it")
