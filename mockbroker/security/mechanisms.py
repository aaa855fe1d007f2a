"""Makes the exchange of a mechanism, from what a node knows of its users.

`apis.context` has one for a node with a SASL listener. What configs and metadata say is read anew
for each exchange, so that a change counts from the next login on; texts are parsed once.
"""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from hashlib import pbkdf2_hmac
from typing import TYPE_CHECKING, Final

from mockbroker.config.jaas import parse_jaas
from mockbroker.config.listeners import listener_text
from mockbroker.config.logins import JAAS, checks_signatures
from mockbroker.metadata.scram import (
    HASHES,
    MECHANISMS,
    MIN_ITERATIONS,
    ScramCredential,
    credential_of,
)
from mockbroker.security import scram
from mockbroker.security.plain import PlainServer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from mockbroker.clock import Clock
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.config.jaas import JaasEntry
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.security.bearer_token import Token
    from mockbroker.security.json_web_keys import JsonWebKeys
    from mockbroker.security.mechanism import Mechanism

_KEPT: Final = 64
_NONCE_BITS: Final = 130
"""ScramFormatter.secureRandomString."""
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_CODES: Final = {name: code for code, name in MECHANISMS.items()}


def _never(_token: str) -> None:
    """No token expires before its time."""


class Mechanisms:
    """The mechanisms of one node; salts and nonces come from `dice`."""

    __slots__ = (
        "_clock",
        "_config",
        "_derived",
        "_dice",
        "_keys",
        "_metadata",
        "_parsed",
        "_spent_by",
    )

    def __init__(
        self,
        config: BrokerConfig,
        metadata: MetadataStore,
        dice: Random,
        clock: Clock,
        spent_by: Callable[[str], str | None] = _never,
    ) -> None:
        """`spent_by` has the id of the rule that made a token expire, by `Mechanism.token`."""
        self._clock = clock
        self._spent_by = spent_by
        self._config = config
        self._metadata = metadata
        self._dice = dice
        self._keys: tuple[str, JsonWebKeys] | None = None
        """Those that were used last, and the text that they are."""
        self._parsed: dict[str, JaasEntry] = {}
        self._derived: dict[tuple[str, str, str], ScramCredential] = {}

    def make(self, mechanism: str, listener: str) -> Mechanism:
        """A new exchange of an enabled mechanism."""
        entry = self._jaas(mechanism, listener)
        if mechanism in HASHES:
            find = partial(self._credential, mechanism, entry)
            token = partial(self._token, mechanism)
            return scram.ScramServer(mechanism, find, self._nonce, token)
        if mechanism == "PLAIN":
            return PlainServer(entry)
        return self._bearer(listener, {} if entry is None else entry.options)

    def _bearer(self, listener: str, options: Mapping[str, str]) -> Mechanism:
        from mockbroker.security.oauthbearer import OAuthBearerServer

        extensions = options.get("validatorRequiredExtensions", "").replace(",", " ").split()
        if checks_signatures(self._config, listener):
            scope = options.get("validatorRequiredScope", "")
            check = partial(self._check_signed, listener, scope)
        else:
            check = partial(self._check_unsecured, options)
        return OAuthBearerServer(partial(self._check_spent, check), extensions)

    def _check_spent(self, check: Callable[[str], Token], token: str) -> Token:
        from mockbroker.security.bearer_token import InvalidTokenError, name_of

        valid = check(token)
        rule = self._spent_by(name_of(token))
        if rule is not None:
            raise InvalidTokenError(f"It expired by {rule}")
        return valid

    def _check_unsecured(self, options: Mapping[str, str], token: str) -> Token:
        from mockbroker.security.unsecured_jws import validate

        return validate(token, options, self._clock.wall_ms())

    def _check_signed(self, listener: str, required_scope: str, token: str) -> Token:
        from mockbroker.security.bearer_token import MissingKeyError
        from mockbroker.security.signed_jws import TokenRules, validate

        rules = TokenRules.of(self._config, listener, required_scope)
        try:
            return validate(token, self._keys_of(listener), rules, self._clock.wall_ms())
        except MissingKeyError:
            self._config.token_keys[listener].missing()
            raise

    def _keys_of(self, listener: str) -> JsonWebKeys:
        from mockbroker.security.bearer_token import InvalidTokenError
        from mockbroker.security.json_web_keys import JsonWebKeys, JwksError

        source = self._config.token_keys.get(listener)
        text = None if source is None else source.text()
        if text is None:
            raise InvalidTokenError("The keys that sign tokens cannot be read")
        if self._keys is None or self._keys[0] != text:
            try:
                self._keys = text, JsonWebKeys.parse(text)
            except JwksError as error:
                raise InvalidTokenError(f"The keys that sign tokens: {error}") from None
        return self._keys[1]

    def _credential(
        self, mechanism: str, entry: JaasEntry | None, user: str
    ) -> ScramCredential | None:
        """Of the metadata, as with Kafka, or else by the password that the JAAS entry has."""
        known = self._metadata.scram_credentials.get((user, _CODES[mechanism]))
        if known is not None or entry is None or entry.module != scram.LOGIN_MODULE:
            return known
        password = entry.options.get(f"user_{user}")
        return None if password is None else self._derive(mechanism, user, password)

    def _token(self, mechanism: str, token_id: str) -> scram.TokenLogin | None:
        """A delegation token: its HMAC is the password (DelegationTokenManager.updateCache)."""
        token = self._metadata.delegation_tokens.get(token_id)
        if token is None or not token.hmac or token.is_removed(self._config, self._clock):
            return None
        if self._spent_by(token_id) is not None:
            return None
        credential = self._derive(mechanism, token_id, b64encode(token.hmac).decode())
        owner = token.owner.partition(":")[2]
        return scram.TokenLogin(owner, token.expiry_wall_ms, credential)

    def _derive(self, mechanism: str, user: str, password: str) -> ScramCredential:
        key = mechanism, user, password
        found = self._derived.get(key)
        if found is None:
            if len(self._derived) >= _KEPT:
                self._derived.clear()
            salt = self._nonce().encode()
            salted = pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, MIN_ITERATIONS)
            found = credential_of(mechanism, salted, salt, MIN_ITERATIONS)
            self._derived[key] = found
        return found

    def _nonce(self) -> str:
        number, digits = self._dice.getrandbits(_NONCE_BITS), ""
        while number:
            number, digit = divmod(number, len(_DIGITS))
            digits = _DIGITS[digit] + digits
        return digits or "0"

    def _jaas(self, mechanism: str, listener: str) -> JaasEntry | None:
        text = listener_text(self._config, listener, JAAS, mechanism)
        if text is None:
            return None
        entry = self._parsed.get(text)
        if entry is None:
            if len(self._parsed) >= _KEPT:
                self._parsed.clear()
            entry = self._parsed[text] = parse_jaas(text)
        return entry
