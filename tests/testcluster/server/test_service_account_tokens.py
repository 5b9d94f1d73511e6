"""Tokens of service accounts: what they say, for how long, and who checks them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import SkewClock
from clientgo.testcluster.server.http.protobuf import PROTOBUF_TYPE
from clientgo.testcluster.server.http.protobuf.decoding import decode_protobuf
from tests.testcluster.server.http_api import Api
from tests.testcluster.server.users import PODS, Users

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
SECRETS = "/api/v1/namespaces/default/secrets"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ISSUER = "https://kubernetes.default.svc.cluster.local"


@pytest.fixture
def robot(users: Users) -> Users:
    users.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    return users


def request_token(users: Users, **spec: Any) -> str:
    answer = users.create(f"{ACCOUNTS}/robot/token", {"spec": spec})
    token: str = answer["status"]["token"]
    return token


def review(users: Users, token: str, *audiences: str) -> dict[str, Any]:
    spec = {"token": token, "audiences": list(audiences)}
    status: dict[str, Any] = users.create(TOKEN_REVIEWS, {"spec": spec})["status"]
    return status


def part(token: str, index: int) -> Any:
    text = token.split(".")[index]
    return json.loads(base64.urlsafe_b64decode(text + "=="))


def bound(kind: str, name: str) -> dict[str, str]:
    return {"kind": kind, "apiVersion": "v1", "name": name}


def test_a_token_names_its_account_and_is_admitted(robot: Users) -> None:
    token = request_token(robot)
    uid = robot.call("GET", f"{ACCOUNTS}/robot").body["metadata"]["uid"]

    claims = part(token, 1)
    answer = robot.call("POST", SELF_REVIEWS, {}, token=token)

    assert claims["iss"] == ISSUER
    assert claims["aud"] == [ISSUER]
    assert claims["sub"] == "system:serviceaccount:default:robot"
    assert claims["exp"] - claims["iat"] == 3600
    assert claims["kubernetes.io"] == {
        "namespace": "default",
        "serviceaccount": {"name": "robot", "uid": uid},
    }
    assert answer.body["status"]["userInfo"] == {
        "username": "system:serviceaccount:default:robot",
        "uid": uid,
        "groups": [
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated",
        ],
        "extra": {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]},
    }


def test_another_program_can_check_a_token_with_the_published_key(robot: Users) -> None:
    token = request_token(robot)
    document = robot.call("GET", "/.well-known/openid-configuration").body
    (key,) = robot.call("GET", "/openid/v1/jwks").body["keys"]
    numbers = [int.from_bytes(base64.urlsafe_b64decode(key[axis] + "=="), "big") for axis in "xy"]
    public = ec.EllipticCurvePublicNumbers(*numbers, ec.SECP256R1()).public_key()
    signed, _, signature = token.rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    halves = (int.from_bytes(half, "big") for half in (raw[:32], raw[32:]))

    public.verify(encode_dss_signature(*halves), signed.encode(), ec.ECDSA(hashes.SHA256()))

    assert part(token, 0) == {"alg": "ES256", "kid": key["kid"]}
    assert document["issuer"] == ISSUER
    listed = set(robot.call("GET", "/").body["paths"])
    assert {"/.well-known/openid-configuration", "/openid/v1/jwks"} <= listed
    assert document["jwks_uri"] == f"{robot.server.url}/openid/v1/jwks"


def test_a_token_that_was_changed_is_refused(robot: Users) -> None:
    token = request_token(robot)
    head, _, signature = token.split(".")
    claims = {**part(token, 1), "sub": "system:serviceaccount:kube-system:admin"}
    forged = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()

    for changed in (f"{head}.{forged}.{signature}", f"{unsigned}.{forged}.", f"{token}x", "a.b.c"):
        assert robot.call("GET", "/api", token=changed).status == 401


def test_a_token_expires(robot: Users) -> None:
    token = request_token(robot, expirationSeconds=600)
    robot.server.inject(SkewClock(seconds=600 + 59))
    assert robot.call("GET", "/api", token=token).status == 200

    robot.server.inject(SkewClock(seconds=3))

    assert robot.call("GET", "/api", token=token).status == 401
    assert "expired" in review(robot, token)["error"]


@pytest.mark.parametrize("created_again", [False, True])
def test_a_token_ends_with_its_account(robot: Users, created_again: bool) -> None:
    token = request_token(robot)
    robot.call("DELETE", f"{ACCOUNTS}/robot")
    if created_again:
        robot.create(ACCOUNTS, {"metadata": {"name": "robot"}})

    assert robot.call("GET", "/api", token=token).status == 401


def test_a_token_ends_with_the_secret_that_it_is_bound_to(robot: Users) -> None:
    robot.create(SECRETS, {"metadata": {"name": "s"}})
    token = request_token(robot, boundObjectRef=bound("Secret", "s"))
    assert robot.call("GET", "/api", token=token).status == 200

    robot.call("DELETE", f"{SECRETS}/s")

    assert robot.call("GET", "/api", token=token).status == 401


def test_a_bound_token_is_answered_in_protobuf(robot: Users) -> None:
    robot.create(SECRETS, {"metadata": {"name": "s"}})

    answer = robot._pool.request(
        "POST",
        f"{robot.server.url}{ACCOUNTS}/robot/token",
        json={"spec": {"boundObjectRef": bound("Secret", "s")}},
        headers={"Authorization": f"Bearer {robot.token}", "Accept": PROTOBUF_TYPE},
    )

    assert (answer.status, answer.headers["content-type"]) == (201, PROTOBUF_TYPE)
    assert decode_protobuf(answer.data)["spec"]["boundObjectRef"]["name"] == "s"


def test_a_token_of_a_pod_says_so_and_ends_with_it(robot: Users) -> None:
    spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
    robot.create(PODS, {"metadata": {"name": "p"}, "spec": spec})
    token = request_token(robot, boundObjectRef=bound("Pod", "p"))
    extra = review(robot, token)["user"]["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]

    robot.call("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})

    assert robot.call("GET", "/api", token=token).status == 401


@pytest.mark.parametrize(
    ("spec", "status", "message"),
    [
        (
            {"expirationSeconds": 599},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid '
            "value: 599: may not specify a duration less than 10 minutes",
        ),
        ({"boundObjectRef": bound("Pod", "none")}, 404, 'pods "none" not found'),
        (
            {"boundObjectRef": bound("ConfigMap", "c")},
            400,
            "cannot bind token to object of type v1, Kind=ConfigMap",
        ),
        (
            {"boundObjectRef": {**bound("Secret", "s"), "uid": "other"}},
            409,
            "does not match the UID in record",
        ),
    ],
)
def test_requests_for_tokens_that_are_refused(
    robot: Users, spec: dict[str, Any], status: int, message: str
) -> None:
    robot.create(SECRETS, {"metadata": {"name": "s"}})

    answer = robot.call("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})

    assert answer.status == status
    assert message in answer.body["message"]


@pytest.mark.parametrize("metadata", [{"name": "other"}, {"namespace": "other"}, "x", {"name": 1}])
def test_a_request_that_names_another_account_is_refused(robot: Users, metadata: Any) -> None:
    answer = robot.call("POST", f"{ACCOUNTS}/robot/token", {"metadata": metadata, "spec": {}})

    assert answer.status == 400


def test_a_pod_of_another_account_is_refused(robot: Users) -> None:
    robot.create(ACCOUNTS, {"metadata": {"name": "other"}})
    spec = {"serviceAccountName": "other", "containers": [{"name": "c", "image": "i"}]}
    robot.create(PODS, {"metadata": {"name": "p"}, "spec": spec})

    wanted = {"spec": {"boundObjectRef": bound("Pod", "p")}}
    answer = robot.call("POST", f"{ACCOUNTS}/robot/token", wanted)

    assert answer.status == 400


def test_a_token_for_another_audience_is_not_for_the_api_server(robot: Users) -> None:
    token = request_token(robot, audiences=["vault", "ci"])

    assert robot.call("GET", "/api", token=token).status == 401
    assert "authenticated" not in review(robot, token)
    reviewed = review(robot, token, "ci", "other")
    assert (reviewed["authenticated"], reviewed["audiences"]) == (True, ["ci"])


def test_a_review_knows_the_tokens_that_are_admitted(robot: Users) -> None:
    assert review(robot, robot.token)["user"]["username"] == "clientgo"
    assert review(robot, "wrong") == {
        "error": "[invalid bearer token, the token is no JSON Web Token]",
        "user": {},
    }
    answer = robot.call("POST", TOKEN_REVIEWS, {"spec": {}})
    assert (answer.status, answer.body["message"]) == (
        400,
        "token is required for TokenReview in authentication",
    )


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer(authorization="RBAC", data_dir=tmp_path) as server:
        yield server


def test_tokens_stay_valid_across_restarts(kept: EmbeddedAPIServer, tmp_path: Path) -> None:
    users = Users(kept)
    users.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    token = request_token(users)

    kept.restart()

    assert users.call("GET", "/api", token=token).status == 200
    kept.stop()
    with EmbeddedAPIServer(authorization="RBAC", data_dir=tmp_path) as again:
        assert Users(again).call("GET", "/api", token=token).status == 200


def test_without_rbac_a_token_names_its_account_too(api: Api) -> None:
    """And one that is not valid any more is refused; other tokens are those of all clients."""
    api.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    token = api.create(f"{ACCOUNTS}/robot/token", {"spec": {}})["status"]["token"]

    def user(shown: str) -> tuple[int, str]:
        answer = api.call("POST", SELF_REVIEWS, {}, headers={"Authorization": f"Bearer {shown}"})
        return answer.status, answer.body.get("status", {}) and str(answer.body)

    status, shown = user(token)
    assert (status, "system:serviceaccount:default:robot" in shown) == (201, True)
    status, shown = user("any")
    assert (status, "'clientgo'" in shown) == (201, True)
    api.delete(f"{ACCOUNTS}/robot")
    assert user(token)[0] == 401
