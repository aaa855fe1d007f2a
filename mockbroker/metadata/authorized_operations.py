"""The bit fields of authorized operations that Metadata, DescribeCluster and others answer.

Without an authorizer nobody is denied anything, so each resource answers all the operations that
it knows (Kafka: AuthHelper.authorizedOperations); with one `apis.auth_helper` puts in its own.
The bit of an operation is its code in AclOperation.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class AclOperation(IntEnum):
    """What a principal may do to a resource, by Kafka's codes."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


NOT_ASKED: Final = -(2**31)

OF_GROUP: Final = (
    AclOperation.READ,
    AclOperation.DELETE,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
)
OF_TOPIC: Final = (*OF_GROUP, AclOperation.WRITE, AclOperation.CREATE, AclOperation.ALTER)
OF_CLUSTER: Final = (
    AclOperation.CREATE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.CLUSTER_ACTION,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.IDEMPOTENT_WRITE,
)


def _bits(operations: tuple[AclOperation, ...]) -> int:
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS: Final = _bits(OF_TOPIC)
GROUP_OPERATIONS: Final = _bits(OF_GROUP)
CLUSTER_OPERATIONS: Final = _bits(OF_CLUSTER)
