"""Where clients come in, and what they show and trust there."""

from __future__ import annotations

from pathlib import Path as File
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from mockbroker.admin.deps import Body, TheHost
from mockbroker.admin.problems import ApiError, problems

router = APIRouter(tags=["listeners"])

Name = Annotated[str, Path(max_length=64, description="Name of a client, or `ca`")]


class ListenerOut(BaseModel):
    """One listener for clients."""

    name: str
    protocol: str = Field(description="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
    bootstrap_servers: str
    requires_certificate: bool = Field(description="Whether a client has to show one")


class ListenerList(BaseModel):
    """The listeners for clients, the first one first."""

    listeners: list[ListenerOut]


class CertificateOut(BaseModel):
    """What a file of `--tls auto` has; of a client that is its key and its certificate."""

    name: str
    pem: str


@router.get("/listeners")
async def list_listeners(host: TheHost) -> ListenerList:
    """The listeners, with what a client needs to know of them."""
    return ListenerList(
        listeners=[
            ListenerOut(
                name=name,
                protocol=protocol,
                bootstrap_servers=servers,
                requires_certificate=host.requires_certificate(name),
            )
            for name, protocol, servers in host.entrances()
        ]
    )


@router.get("/certificates/{name:name}", responses=problems(404))
async def get_certificate(host: TheHost, name: Name) -> CertificateOut:
    """Of a client, made when first asked for, with its key; `ca` is whom clients are to trust."""
    try:
        file = host.pem_file(name)
    except ValueError as error:
        raise ApiError(422, str(error), "name") from None
    if file is None:
        raise ApiError(404, "there are no certificates: start it with --tls auto")
    return CertificateOut(name=name, pem=_text(file))


class TokenIn(Body):
    """What a token is to say."""

    principal: str = Field(default="client", min_length=1, description="Whose it is")
    listener: str | None = Field(default=None, description="The first with OAUTHBEARER, or this")
    lifetime_ms: int = Field(default=3_600_000, description="On the broker's clock")
    claims: dict[str, Any] = Field(
        default_factory=dict, description="These before all others; one that is null is left out"
    )


class TokenOut(BaseModel):
    """A token of OAUTHBEARER that its listener takes."""

    token: str


@router.post("/tokens")
async def make_token(host: TheHost, wanted: TokenIn) -> TokenOut:
    """Make a token: signed where `sasl.oauthbearer.jwks.endpoint.url` is `auto`, or unsecured."""
    try:
        token = host.act(
            lambda _: host.token(
                wanted.principal, wanted.listener, wanted.lifetime_ms, wanted.claims
            )
        )
    except ValueError as error:
        raise ApiError(422, str(error), "listener") from None
    return TokenOut(token=token)


def _text(file: str) -> str:
    return File(file).read_text("utf-8")
