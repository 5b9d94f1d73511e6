from __future__ import annotations

import pytest

from clientgo.testing.fakes.actions import Action, Verb
from clientgo.testing.fakes.reactors import Reactors, UnhandledActionError
from tests.testing.builders import PODS

GET = Action(Verb.GET, PODS, "ns", "p")


def test_the_first_reactor_that_answers_wins():
    """FAKE-02."""
    asked = []
    reactors = Reactors()
    reactors.add("get", "pods", lambda _: asked.append("first"))
    reactors.add("get", "pods", lambda _: asked.append("second") or "answer")
    reactors.add("get", "pods", lambda _: asked.append("third") or "other answer")

    assert reactors.react(GET) == "answer"
    assert asked == ["first", "second"]


def test_a_prepended_reactor_goes_before_those_that_are_there():
    """FAKE-03."""
    reactors = Reactors()
    reactors.add("*", "*", lambda _: "added")
    reactors.prepend("*", "*", lambda _: "prepended")

    assert reactors.react(GET) == "prepended"


@pytest.mark.parametrize(
    ("verb", "resource"), [("list", "pods"), ("get", "nodes"), ("get", "pods/status")]
)
def test_a_reactor_for_something_else_is_not_asked(verb, resource):
    """FAKE-04."""
    reactors = Reactors()
    reactors.add(verb, resource, lambda _: pytest.fail("asked"))
    reactors.add("*", "*", lambda _: "answer")

    assert reactors.react(GET) == "answer"


@pytest.mark.parametrize("verb", ["created", "apply", "deletecollection", ""])
def test_a_verb_that_no_action_has_is_refused(verb):
    """FAKE-04: its reactor would never be asked, and the test would not notice."""
    reactors = Reactors()

    for register in (reactors.add, reactors.prepend):
        with pytest.raises(ValueError, match=r"write '.' or one of get, list, .* is a patch"):
            register(verb, "pods", lambda _: None)


def test_what_a_reactor_raises_is_the_answer():
    """FAKE-02."""
    reactors = Reactors()
    reactors.add("*", "*", lambda _: 1 / 0)
    reactors.add("*", "*", lambda _: "answer")

    with pytest.raises(ZeroDivisionError):
        reactors.react(GET)


def test_an_action_that_nobody_answers_is_an_error():
    """FAKE-02, P-33: client-go makes it succeed, with an empty object."""
    reactors = Reactors()
    reactors.add("*", "*", lambda _: None)

    with pytest.raises(UnhandledActionError, match="get pods ns/p"):
        reactors.react(GET)
