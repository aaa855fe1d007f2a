"""Configs that Apache Kafka does not have, or keeps to itself, under the same kind of names.

Ours begin with `mockbroker.`; all are internal, so a client that lists the broker's configs sees
what Apache Kafka lists. A row is read as `config.definition` explains.
"""

from __future__ import annotations

from typing import Final

# min.incremental.fetch.session.eviction.ms is a constant in Apache Kafka (KIP-227 names it).
# mockbroker.group.settling.heartbeat.interval.ms: how soon members of a consumer group that is
# rebalanced are asked to come again; 0 asks them at Kafka's interval.
# mockbroker.quota.request.time.ms: what a request counts against request_percentage.
# mockbroker.version.profile: `widest` serves all that the codec knows, Fetch from version 3;
# `4.4` serves Apache Kafka 4.4's ranges, Fetch from version 4 and Produce from version 3.
# mockbroker.client.telemetry: clients are told that metrics are received here (KIP-714), as by a
# broker of Apache Kafka whose metric.reporters have a receiver.
# mockbroker.controller.fetch.max.version: 17 makes the controller one from before KIP-1166.
# mockbroker.quorum.commit.delay.ms: how long the metadata's high watermark trails an append.
# super.users, allow.everyone.if.no.acl.found: StandardAuthorizer's own, not KafkaConfig's.
OWN_DEFINITIONS: Final = """\
allow.everyone.if.no.acl.found BOOLEAN false - Li
super.users STRING '' - Li
mockbroker.quota.request.time.ms DOUBLE 0.1 0.. Mi
min.incremental.fetch.session.eviction.ms LONG 120000 0.. Mi
mockbroker.client.telemetry BOOLEAN false - Li
mockbroker.controller.fetch.max.version INT 18 17..18 Li
mockbroker.quorum.commit.delay.ms INT 0 0.. Li
mockbroker.group.settling.heartbeat.interval.ms INT 100 0.. Mi
mockbroker.version.profile STRING widest =widest|4.4 Mi
"""
