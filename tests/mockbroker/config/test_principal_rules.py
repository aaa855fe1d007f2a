"""Names that rules make of subjects: the answers of Apache Kafka's own mapper."""

from __future__ import annotations

import pytest

from mockbroker.config.errors import ConfigError
from mockbroker.config.principal_rules import PrincipalRules

LONG = "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L"
USERS = "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/"


@pytest.mark.parametrize(
    ("rules", "subject", "name"),
    [
        ("DEFAULT", "CN=a,O=b", "CN=a,O=b"),
        ("", "CN=a,O=b", None),
        (USERS, "CN=Duke,OU=ServiceUsers,O=x", "Duke"),
        (f"{USERS},DEFAULT", "CN=Duke,OU=Other,O=x", "CN=Duke,OU=Other,O=x"),
        (USERS, "CN=Duke,OU=Other,O=x", None),
        (LONG, "CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U", "CN=duke.x,OU=y", "DUKE.X"),
        ("RULE:^CN=([^,]+)$/$1/ , DEFAULT", "CN=alice", "alice"),
        ("RULE:CN=(.*)/$1-$0/", "CN=alice", "alice-CN=alice"),
        ("RULE:CN=/x/", "CN=alice", None),
        ("RULE:(CN)=(a|al)(.*)/$3|$2/", "CN=alice", "lice|a"),
        ("RULE:(a*)(a*)/[$1][$2]/", "aaa", "[aaa][][][]"),
        (r"RULE:CN=(a\/b)/$1/", "CN=a/b", "a/b"),
        ("RULE:CN=(.)*/$1/", "CN=abc", "c"),
        ("RULE:CN=(x)?(.*)/$1-$2/", "CN=abc", "-abc"),
        (r"RULE:CN=(.*)/\$1/", "CN=abc", "$1"),
        ("RULE:CN=(.*)/$10/", "CN=abc", "abc0"),
        ("RULE:CN=(.*)/$2/", "CN=abc", "$2"),
        ("RULE:CN=(?<n>.*)/${n}/", "CN=abc", "abc"),
        ("DEFAULT,RULE:CN=(.*)/$1/", "CN=abc", "CN=abc"),
        ("RULE:CN=(.*)/$1/L,RULE:(.*)/$1/U", "OU=abc", "OU=ABC"),
        ("RULE:(.*?)/$1x/", "ab", "xaxbx"),
        ("RULE:.*/x/", "ab", "xx"),
    ],
)
def test_a_name_is_the_one_that_kafka_makes(rules: str, subject: str, name: str | None) -> None:
    assert PrincipalRules(rules).name_of(subject) == name


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            "RULE:CN=(.*)/$1/LU",
            r"^Invalid rule: `RULE:CN=\(\.\*\)/\$1/LU`, unmatched substring: `U`",
        ),
        ("RULE:CN=(.*)/$1/X", "unmatched substring: `X`"),
        ("RULE:CN=(.*)/$1", r"unmatched substring: `RULE:CN=\(\.\*\)/\$1`"),
        ("nonsense", "unmatched substring: `nonsense`"),
        ("DEFAULT RULE:a/b/", "unmatched substring: `RULE:a/b/`"),
        ("RULE:CN=(.*/$1/", r"CN=\(\.\* is no pattern \(missing closing \)\)"),
        ("RULE:CN=(.*)/a$/", r"a \$ in a\$ names no group"),
        ("RULE:CN=(.*)/${n}/", "there is no group n"),
    ],
)
def test_what_is_no_rule_is_told(rules: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PrincipalRules(rules)
