"""What the simulation asks brokers about configs, quotas and ACLs: every row of every answer.

Each function asks `Asker.node` one question and holds the answer against what is set at that
broker: a value that is set is told with its source, whatever is not set is told as of the next
level that has it, and nothing else is told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.logins import login_problem
from mockbroker.config.principal_rules import PrincipalRules
from mockbroker.config.registry import BROKER, GROUP, TOPIC
from mockbroker.config.rows import ConfigSource
from mockbroker.metadata.acls import Acl
from mockbroker.re2.expression import matching
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.acls import (
    DeleteAclsFilter,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from mockbroker_protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from mockbroker_protocol.messages.quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from simulation.cluster.acl_rules import ANY, LITERAL, MATCH, PREFIXED, acl_fits
from simulation.cluster.admin_changes import ENTITIES, GUARDED
from simulation.cluster.metadata_inquiries import BAD_NAME, NOBODY
from simulation.expressions import draw_any_expression, draw_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from simulation.cluster.metadata_inquiries import Asker

TOPICS, BROKERS, LOGGERS, METRICS, GROUPS = 2, 4, 8, 16, 32
OF_NOBODY: Final = "of-nobody"
LEVELS: Final = (
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSource.STATIC_BROKER_CONFIG,
)
INVALID: Final = ErrorCode.INVALID_REQUEST
EXPRESSIONS: Final = 5
_PACKAGE: Final = "org.apache.kafka.common.security"
_SIGNED: Final = f"{_PACKAGE}.oauthbearer.OAuthBearerValidatorCallbackHandler"
_HANDLER: Final = "sasl.server.callback.handler.class"
_OAUTH: Final = "oauthbearer.sasl.oauthbearer."
GOOD_LOGINS: Final[Mapping[str, str]] = {
    "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER,SCRAM-SHA-256",
    "plain.sasl.jaas.config": f'{_PACKAGE}.plain.PlainLoginModule required user_a="b";',
    f"oauthbearer.{_HANDLER}": _SIGNED,
    f"{_OAUTH}jwks.endpoint.url": "auto",
    f"{_OAUTH}expected.audience": "a",
    f"{_OAUTH}expected.issuer": "b",
}
LOGIN_PROBLEMS: Final[Sequence[tuple[Mapping[str, str], str | None]]] = (
    ({}, None),
    ({f"{_OAUTH}jwks.endpoint.url": "https://keys.test/x"}, None),
    ({f"{_OAUTH}expected.issuer": "", f"{_OAUTH}allow.unverified.issuer": "true"}, None),
    ({"sasl.enabled.mechanisms": "GSSAPI"}, "sasl.enabled.mechanisms"),
    ({f"plain.{_HANDLER}": "x.Y"}, f"plain.{_HANDLER}"),
    ({f"oauthbearer.{_HANDLER}": "x.Y"}, f"oauthbearer.{_HANDLER}"),
    ({"plain.sasl.jaas.config": ""}, "plain.sasl.jaas.config"),
    ({"plain.sasl.jaas.config": "x required"}, "plain.sasl.jaas.config"),
    ({"plain.sasl.jaas.config": "x wanted;"}, "plain.sasl.jaas.config"),
    ({"plain.sasl.jaas.config": "x required a;"}, "plain.sasl.jaas.config"),
    ({"plain.sasl.jaas.config": "x required; y required;"}, "plain.sasl.jaas.config"),
    ({"plain.sasl.jaas.config": "// nothing"}, "plain.sasl.jaas.config"),
    ({f"{_OAUTH}jwt.validator.class": "x.Y"}, f"{_OAUTH}jwt.validator.class"),
    ({f"{_OAUTH}jwks.endpoint.url": "nowhere"}, f"{_OAUTH}jwks.endpoint.url"),
    ({f"{_OAUTH}expected.audience": ""}, f"{_OAUTH}expected.audience"),
    ({f"{_OAUTH}expected.issuer": ""}, f"{_OAUTH}expected.issuer"),
    ({f"{_OAUTH}clock.skew.seconds": "-1"}, f"{_OAUTH}clock.skew.seconds"),
)
"""What is otherwise at a listener, and which key is told to be wrong."""


def _describe(
    asker: Asker, kind: int, name: str, error: int
) -> dict[str, DescribeConfigsResourceResult] | None:
    """The rows of a resource by name: all, or those of some keys; None: it is refused so."""
    rng = asker.rng
    version = rng.randrange(1, 5)
    keys = rng.choice((None, None, [], ["retention.ms", "log.retention.ms", "interval.ms"]))
    asked = DescribeConfigsResource(kind, name, keys)
    request = DescribeConfigsRequest([asked, asked], include_synonyms=rng.random() < 0.5)
    request.include_documentation = version >= 3 and rng.random() < 0.3
    answer = asker.inquire(request, version, DescribeConfigsResponse)
    first, second = answer.results
    asker.expect("what is told twice", second, first)
    asker.expect("the error", first.error_code, error)
    asker.expect("the resource", (first.resource_type, first.resource_name), (kind, name))
    if error:
        asker.expect("rows", first.configs, [])
        return None
    rows = {row.name: row for row in first.configs}
    asker.expect("how many rows", len(rows), len(first.configs))
    if keys:
        asker.expect("what was not asked for", set(rows) - set(keys), set())
    for row in first.configs:
        if row.synonyms:
            best = row.synonyms[0]
            asker.expect(f"{row.name} by itself", (row.value, row.config_source),
                         (best.value, best.source))  # fmt: skip
        if version >= 3 and not request.include_documentation and kind != LOGGERS:
            asker.expect("documentation", row.documentation, None)
    return rows if not keys else None


def _level_of(config: BrokerConfig, name: str) -> tuple[str | None, ConfigSource]:
    """What is set for a key of brokers, and where."""
    for level, source in zip(config.levels(), LEVELS, strict=True):
        if name in level:
            return level[name], source
    return None, ConfigSource.DEFAULT_CONFIG


def _expect_rows(
    asker: Asker,
    rows: Mapping[str, DescribeConfigsResourceResult],
    own: Mapping[str, str],
    source: ConfigSource,
    names: set[str],
) -> None:
    """These names, each of its own value where it has one, else of another source."""
    asker.expect("the keys", set(rows), names)
    for name, row in rows.items():
        if name in own:
            asker.expect(name, (row.value, row.config_source), (own[name], source))
        elif row.config_source == source:
            asker.expect(f"the source of {name}", row.config_source, "another")


def topic_configs(asker: Asker) -> None:
    """Of a topic, of one that there is not, and of one that there cannot be."""
    store = asker.services.metadata
    name = asker.rng.choice([*sorted(store.topics), *sorted(store.topics), NOBODY, BAD_NAME])
    error = {
        NOBODY: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        BAD_NAME: ErrorCode.INVALID_TOPIC_EXCEPTION,
    }.get(name, ErrorCode.NONE)
    rows = _describe(asker, TOPICS, name, error)
    if rows is None:
        return
    own = store.topics[name].configs
    names = {each.name for each in TOPIC if not each.internal or each.name in own}
    _expect_rows(asker, rows, own, ConfigSource.TOPIC_CONFIG, names)
    for each in TOPIC:
        if each.name in rows and each.name not in own and each.behind:
            text, source = _level_of(asker.services.config, each.behind[0][0])
            if text is not None:
                row = rows[each.name]
                asker.expect(each.name, (row.value, row.config_source), (text, source))


def broker_configs(asker: Asker) -> None:
    """Of the broker itself, of another, of none, and of all."""
    config = asker.services.config
    name = asker.rng.choice((str(asker.node), str(asker.node), "", "77", "one"))
    rows = _describe(asker, BROKERS, name, INVALID if name in ("77", "one") else 0)
    if rows is None:
        return
    of_all = config.dynamic(cluster_default=True)
    if not name:
        _expect_rows(asker, rows, of_all, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, set(of_all))
        return
    listed = {each.name for each in BROKER if not each.internal}
    asker.expect("missing keys", listed - set(rows), set())
    for key, row in rows.items():
        definition = BROKER.get(key)
        if definition is None:
            continue
        asker.expect(f"{key} to be read only", row.read_only, not definition.dynamic)
        text, source = _level_of(config, key)
        if definition.sensitive:
            asker.expect(key, row.value, None)
        elif text is not None and len(definition.name) == len(key):
            asker.expect(key, row.config_source, source)


def logger_levels(asker: Asker) -> None:
    """Of the broker's loggers."""
    name = asker.rng.choice((str(asker.node), "", "77"))
    rows = _describe(asker, LOGGERS, name, 0 if name == str(asker.node) else INVALID)
    if rows is not None:
        told = {key: row.value for key, row in rows.items()}
        asker.expect("levels", told, dict(asker.services.metadata.log_levels))


def resource_configs(asker: Asker) -> None:
    """Of a group or a subscription to clients' metrics, set or not, and of one without a name."""
    kind = asker.rng.choice((METRICS, GROUPS))
    name = asker.rng.choice((OF_NOBODY, "g", ""))
    rows = _describe(asker, kind, name, 0 if name else INVALID)
    if rows is None:
        return
    own = asker.services.metadata.resource_configs[kind].get(name, {})
    if kind == GROUPS:
        names = {each.name for each in GROUP}
        _expect_rows(asker, rows, own, ConfigSource.GROUP_CONFIG, names)
    else:
        names = {"interval.ms", "match", "metrics"}
        _expect_rows(asker, rows, own, ConfigSource.CLIENT_METRICS_CONFIG, names)


def of_unknown_types(asker: Asker) -> None:
    """One type that there is not spoils the whole request."""
    asked = [DescribeConfigsResource(TOPICS, "t0", None), DescribeConfigsResource(99, "x", None)]
    answer = asker.inquire(DescribeConfigsRequest(asked), 4, DescribeConfigsResponse)
    asker.expect("the errors", [each.error_code for each in answer.results], [INVALID] * 2)


def quotas(asker: Asker) -> None:
    """All entities that a filter fits, with all their quotas."""
    rng = asker.rng
    store = asker.services.metadata
    entity, strict = rng.choice(ENTITIES), rng.random() < 0.5
    match = [(kind, rng.choice((0, 1, 2)), name) for kind, name in entity]
    match = [(kind, how if name or how else 2, name) for kind, how, name in match]
    components = [ComponentData(kind, how, None if how else name) for kind, how, name in match]
    request = DescribeClientQuotasRequest(components, strict)
    answer = asker.inquire(request, rng.randrange(2), DescribeClientQuotasResponse)
    fits: dict[int, Callable[[str | None, str | None], bool]] = {
        0: lambda named, name: named == name,
        1: lambda named, _: named is None,
        2: lambda _named, _: True,
    }
    wanted = {}
    for known, values in store.client_quotas.items():
        named = dict(known)
        if strict and set(named) != {kind for kind, *_ in match}:
            continue
        if all(kind in named and fits[how](named[kind], name) for kind, how, name in match):
            wanted[frozenset(known)] = dict(values)
    told = {
        frozenset((part.entity_type, part.entity_name) for part in each.entity): {
            one.key: one.value for one in each.values
        }
        for each in answer.entries or ()
    }
    asker.expect("quotas", told, wanted)


BAD_FILTERS: Final[tuple[tuple[int, tuple[ComponentData, ...]], ...]] = (
    (INVALID, (ComponentData("", 2, None),)),
    (INVALID, (ComponentData("user", 2, None), ComponentData("user", 1, None))),
    (ErrorCode.UNSUPPORTED_VERSION, (ComponentData("group", 2, None),)),
    (INVALID, (ComponentData("ip", 2, None), ComponentData("user", 2, None))),
    (INVALID, (ComponentData("user", 7, None),)),
    (INVALID, (ComponentData("user", 0, None),)),
    (INVALID, (ComponentData("user", 1, "u"),)),
    (INVALID, (ComponentData("user", 2, "u"),)),
)


def bad_quota_filters(asker: Asker) -> None:
    """Filters that mean nothing."""
    error, components = asker.rng.choice(BAD_FILTERS)
    request = DescribeClientQuotasRequest([*components], strict=False)
    answer = asker.inquire(request, asker.rng.randrange(2), DescribeClientQuotasResponse)
    asker.expect("the error", (answer.error_code, answer.entries), (error, None))


def acls(asker: Asker) -> None:
    """All ACLs that a filter fits."""
    rng = asker.rng
    kind, pattern = rng.choice((ANY, 2, 3)), rng.choice((ANY, MATCH, LITERAL, PREFIXED))
    name = rng.choice((None, *GUARDED, NOBODY))
    who, host = rng.choice((None, "User:mallory", "User:eve")), rng.choice((None, "*"))
    operation, permission = rng.choice((1, 3, 8)), rng.choice((1, 2, 3))
    request = DescribeAclsRequest(kind, name, pattern, who, host, operation, permission)
    answer = asker.inquire(request, rng.randrange(1, 4), DescribeAclsResponse)
    told = {
        Acl(of.resource_type, of.resource_name, of.pattern_type, one.principal, one.host,
            one.operation, one.permission_type)
        for of in answer.resources for one in of.acls
    }  # fmt: skip

    asked = DeleteAclsFilter(kind, name, pattern, who, host, operation, permission)
    there = asker.services.metadata.acls
    if asker.services.authorizer is None:
        asker.expect("the error", answer.error_code, ErrorCode.SECURITY_DISABLED)
        there = {}
    asker.expect("ACLs", told, {acl for acl in there if acl_fits(acl, asked)})


def names_of_certificates(asker: Asker) -> None:
    """`ssl.principal.mapping.rules` of a listener: the first rule that matches makes the name."""
    for _ in range(EXPRESSIONS):
        drawn, name = draw_expression(asker.rng), asker.rng.choice((*asker.plan.topics, NOBODY))
        rules = PrincipalRules(
            f"RULE:^CN=([a-z]+),(?:{drawn.text})$/$1/U,RULE:^CN=(?P<who>[a-z]+),x.*$/${{who}}.x/L,"
            "RULE:^.*=y$/y/,DEFAULT"
        )
        rest = asker.rng.choice((name, "xyz"))
        subject = f"CN=alice,{rest}"
        fits = re.fullmatch(f"CN=([a-z]+),(?:{drawn.python})", subject, re.ASCII)
        by_second = "alice.x" if rest.startswith("x") else subject
        told = rules.name_of(subject)
        asker.expect(f"{subject} by {drawn.text}", told, "ALICE" if fits else by_second)


def bad_expressions(asker: Asker) -> None:
    """What is no expression is told to be none, what is one is read."""
    for _ in range(EXPRESSIONS):
        drawn = draw_any_expression(asker.rng)
        names = {*asker.plan.topics, NOBODY, "txn0", "x-0.n"}
        told = matching(drawn.text, names)
        asker.expect(drawn.text, told, {name for name in names if drawn.matches(name)})


def login_problems(asker: Asker) -> None:
    """What keeps a listener from being opened, since nobody could log in."""
    prefix = "listener.name.test."
    changes, key = asker.rng.choice(LOGIN_PROBLEMS)
    configs = {f"{prefix}{name}": text for name, text in {**GOOD_LOGINS, **changes}.items() if text}
    found = login_problem(BrokerConfig(configs), "TEST")
    asker.expect(f"{changes}", found and found.key, key and f"{prefix}{key}")


CONFIG_INQUIRIES: Final[tuple[Callable[[Asker], None], ...]] = (
    topic_configs,
    broker_configs,
    logger_levels,
    resource_configs,
    of_unknown_types,
    quotas,
    bad_quota_filters,
    acls,
    names_of_certificates,
    bad_expressions,
    login_problems,
)
