"""All that the core of a cluster holds, field by field: what a scope must bring back.

`OWNERS` says of each attribute of each class of the core which of four it is:

kept     state, which `dump` shows and the end of a scope brings back
wiring   other owners, functions and settings: made once, or shown where they belong
growing  numbers that only go forward, so that no client meets one twice
passing  what hangs on connections, deadlines and requests under way, or can be told from the rest

`dump` follows what is kept; what is nothing (None, 0, -1, empty) is left out, so that a room that
was not made yet is like one without content. `uncovered` finds classes and attributes that the
table does not name.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Mapping
from enum import Enum
from functools import cache, partial
from inspect import isroutine
from random import Random
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mockbroker.cluster.cluster import Cluster

_APART = (
    "mockbroker.apis",  # what serves requests; its state is in the rooms, by Services below
    "mockbroker.config.group",
    "mockbroker.config.log_config",  # what topics' configs say, and stays as it is
    "mockbroker.faults.fault.",
    "mockbroker.fetch",  # fetch sessions, which are the clients'
    "mockbroker.journal",  # what happened, has happened
    "mockbroker.purgatory",
    "mockbroker.node.connection",
    "mockbroker.node.memory_pool",
    "mockbroker.node.outbox",
    "mockbroker.node.request_handler._Over",
    "mockbroker.node.sasl_gate",  # logins are the connections'
    "mockbroker.node.slices",
    "mockbroker.replica.delayed",
    "mockbroker.replica.fetch_params",
    "mockbroker.replica.fetcher",
    "mockbroker.replica.kept_logs",
    "mockbroker.log.checkpoint",
    "mockbroker.cluster.idle_rounds",
    "mockbroker.cluster.links.broker_client",
    "mockbroker.state.",
    "mockbroker_protocol",
    "tests.",
)
"""Modules whose objects hold nothing that a scope could bring back."""

_TABLE = """
mockbroker.apis.context.Services
  kept _client_metrics extension groups quorum quotas replicas transactions
  wiring authorizer broker_id clock config controller coordinator_of fetch metadata
  wiring leader_log tell
  wiring metadata_progress producer_ids registries registry rng substream timer
  wiring work_in_slices
  wiring admission
  passing client_software deferred logins shown_topics
mockbroker.security.admission.Admission
  wiring _clock _config _dice _metadata rules
  passing _mechanisms
  growing outcomes
mockbroker.security.admission.Outcomes
  growing done failed renewals_done renewals_failed
mockbroker.clock.Clock
  wiring epoch_ms
  growing now_ms
mockbroker.clock.Timer
  passing _buckets _heap _pending
mockbroker.clock.TimerTask
  passing _action _timer tick_ms
mockbroker.cluster.cluster.Cluster
  kept _faults metadata nodes interconnect peers
  wiring _substream clock timer journal controller end_step _settle next_deadline
  wiring other_certificates
  growing producer_id_blocks
mockbroker.cluster.interconnect.Interconnect
  kept links
  wiring nodes clock timer controller outside _by_id
  passing feeds _clients
  growing _connections_made
mockbroker.cluster.links.forwarding.ForwardingController
  wiring _feed _links _store config rng
mockbroker.cluster.links.heartbeats.BrokerSessions
  kept _kept_out
  wiring _clock _timer _control timeout_ms
  passing _heard_ms alarm
mockbroker.cluster.links.heartbeats.Heartbeat
  wiring _clock _timer _link interval_ms _heard
  passing task
mockbroker.cluster.links.isr_proposals.IsrProposals
  wiring _clock _timer _replicas _send _propose
  passing interval_ms task
mockbroker.cluster.links.link.Link
  kept cut held delay_ms
  wiring _links source target on_open
  passing _waiting _in_flight
  growing _generation
mockbroker.cluster.links.link.Links
  kept _links
  wiring clock timer
  passing arrived latest_ms
mockbroker.cluster.links.metadata_feed.MetadataFeed
  kept image
  wiring _link _clock _timer
  passing ready _pending
mockbroker.cluster.nodes.Incarnation
  kept broker
  wiring clock timer
mockbroker.cluster.nodes.Node
  kept info incarnation skew_ms logs request_faults network_faults config stopped_cleanly
  kept login_faults handshake_faults
  wiring index node_id kept_logs watcher
  growing incarnations epoch
mockbroker.cluster.nodes.NodeWatcher
mockbroker.cluster.nodes.PeerIncarnation
  kept broker feed fetchers
  wiring clock timer channels coordinators proposals
  passing heartbeat
mockbroker.cluster.peers.Peers
  kept quorum tells_high_watermark sessions
  growing idle_rounds
  wiring interconnect nodes clock timer links store controller control running
  wiring _producer_id_blocks _journal _substream
  growing _next_epoch
mockbroker.config.broker.BrokerConfig
  kept _dynamic _dynamic_default _static
  wiring certificate_principals reconfigurables token_keys
  passing _values
mockbroker.config.topic.TopicConfig
  kept overrides
  wiring broker
  passing _log_config _values
mockbroker.coordinator.deferred_writes.DeferredWrites
  passing _completing_up_to _writes
mockbroker.coordinator.group.classic_group.ClassicGroup
  kept group_id state protocol_type protocol_name generation_id leader_id members
  kept static_members pending_joins pending_syncs awaiting_joins protocol_counts
  passing subscribed_topics
  passing previous_state state_timestamp_ms new_member_added join_task sync_task
mockbroker.coordinator.group.consumer.coordinator.ConsumerGroups
  wiring _runtime _view _settings _subscriptions _fencing _heartbeats mixed
mockbroker.coordinator.group.consumer.fencing.Fencing
  wiring _clock _migration _subscriptions timeouts
mockbroker.coordinator.group.consumer.group.ConsumerGroup
  kept group_id epoch metadata_hash assignment_epoch assignment_timestamp_ms members
  kept static_members target target_owners resolved has_partition_metadata name_counts
  kept regex_counts assignors classic_protocols classic_count partition_epochs
  kept co_holders departed
  passing timers metadata_deadline_ms metadata_seen_epoch bumped_ms
mockbroker.coordinator.group.consumer.heartbeat.HeartbeatHandler
  wiring _settings _subscriptions _updater _fencing _migration _rng
mockbroker.coordinator.group.consumer.member.ConsumerMember
  kept member_id epoch previous_epoch state instance_id rack_id rebalance_timeout_ms
  kept client_id client_host topic_names topic_regex server_assignor assigned
  kept pending_revocation classic
mockbroker.coordinator.group.consumer.member.MemberTimers
  passing deadline_ms session rebalance join sync
mockbroker.coordinator.group.consumer.member_update.MemberUpdater
  wiring _clock _settings _subscriptions
mockbroker.coordinator.group.consumer.migration.Migration
  wiring _settings _view _rebalancer timeouts
mockbroker.coordinator.group.consumer.mixed.MixedHandler
  wiring _settings _subscriptions _updater _fencing _migration _rng
mockbroker.coordinator.group.consumer.settings.ConsumerSettings
  wiring _clock _config _group_config extra_assignors
mockbroker.coordinator.group.consumer.subscriptions.Subscriptions
  wiring _clock _settings view
  passing _newest_topics
mockbroker.coordinator.group.consumer.timeouts.MemberTimeouts
  wiring _clock _timer _fence
mockbroker.coordinator.group.consumer.topic_view.TopicView
  wiring _metadata
mockbroker.coordinator.group.expiry.Expiry
  wiring _clock _timer _config
  passing _tasks
mockbroker.coordinator.group.join.JoinHandler
  wiring _rebalancer _rng
mockbroker.coordinator.group.members.ClassicMember
  kept member_id group_instance_id client_id client_host rebalance_timeout_ms
  kept session_timeout_ms protocols assignment
  passing join_reason is_new parked_join parked_sync session_deadline_ms session_task
mockbroker.coordinator.group.offset_store.CommittedOffset
  kept offset leader_epoch metadata commit_timestamp_ms expire_timestamp_ms topic_id
  kept record_offset
mockbroker.coordinator.group.offset_store.OffsetStore
  kept _committed _pending _open_by_group
mockbroker.coordinator.group.offsets.OffsetMetadataManager
  wiring _runtime _rebalancer _log companion
mockbroker.coordinator.group.rebalance.Rebalancer
  wiring clock timer config _topics
  passing announced awaiting_topics
mockbroker.coordinator.group.service.GroupCoordinatorService
  kept runtime
  wiring _clock _config _metadata _controller _log _rng _consumers _topic rebalancer
  wiring _joins _syncs _sessions offsets _expiry extra_assignors
  wiring _companion
mockbroker.coordinator.group.sessions.SessionHandler
  wiring _rebalancer
mockbroker.coordinator.group.shard.GroupShard
  kept groups consumer_groups offsets
  wiring partition_index _runtime _listener live companion
mockbroker.coordinator.group.shard.ShardListener
mockbroker.coordinator.group.sync.SyncHandler
  wiring _rebalancer
mockbroker.coop.extension.Cooperation
  kept _commits
  wiring _services coordinators companion assignors in_use
  passing remainders handouts filtered transparent registered
mockbroker.coop.ic_shard.CommittedRanges
  kept keys stray pending read_committed
mockbroker.coop.ic_shard.IndividualCommitShard
  kept groups
  wiring partition_index
  passing called_out
mockbroker.coop.registered_filters.RegisteredFilters
  wiring _in_use
  passing _by_client partitions
mockbroker.coop.in_use.InUse
  wiring _services
  passing advertised commits fetches filters follows groups leases sessions transparent
mockbroker.coop.transparent.TransparentGroups
  wiring _services
  passing _known unable begun looked_at
mockbroker.coop.individual_commits.IndividualCommits
  kept runtime
  wiring _services _topic _log on_committed on_dropped on_moved
  growing counted
mockbroker.coop.interval_set.IntervalSet
  kept _count _starts _firsts _lasts
mockbroker.coordinator.lazy.LazyCoordinator
  kept _service
  wiring _make replication
mockbroker.coordinator.leadership.CoordinatorLeadership
  wiring topic _coordinator _log _replicas _timeout_ms _clock _timer _defer
  passing _led _owned _loads _load_is_scheduled
mockbroker.coordinator.log_port.InternalLog
  wiring _clock _replicas _topic
mockbroker.coordinator.producer_ids.ProducerIdBlocks
  growing next_producer_id
mockbroker.coordinator.producer_ids.ProducerIdManager
  wiring _blocks
  growing _block
mockbroker.coordinator.runtime.CoordinatorRuntime
  kept _topic _shards _committed
  wiring _append _make_shard needs_topic encode decode replication make_committed
  passing _unloaded _deferred _loading
mockbroker.coordinator.runtime.InternalTopic
  passing _fixed_count
  wiring name _metadata _default_count
mockbroker.coordinator.txn.coordinator.TransactionCoordinator
  kept _service
  wiring _make replication _clock _timer _config _metadata _replicas _append
  wiring _producer_ids _complete_group_transaction _verifier _marker_writer connect record
mockbroker.coordinator.txn.marker_writer.MarkerWriter
  wiring _replicas _config _complete_group_transaction
mockbroker.coordinator.txn.markers.TransactionMarkers
  wiring _clock _timer _metadata _writer
  passing _pending
mockbroker.coordinator.txn.metadata.TransactionMetadata
  kept transactional_id producer_id previous_producer_id next_producer_id producer_epoch
  kept last_producer_epoch timeout_ms state partitions start_ms last_update_ms
  kept client_transaction_version pending_state
mockbroker.coordinator.txn.service.TransactionCoordinatorService
  kept runtime
  wiring _clock _config _metadata _generate_producer_id _record markers _timeouts
mockbroker.coordinator.txn.shard.TransactionShard
  kept transactions
  wiring partition_index _log _listener _timeout_ms
  passing is_settled
mockbroker.coordinator.txn.timeouts.Timeouts
  wiring _clock _timer _config _shards _fence _abort _expire
mockbroker.coordinator.txn.verification.TransactionVerifier
  wiring _clock _timer _config _service
  passing _waiting
mockbroker.faults.armed_fault.ArmedFault
  kept fault hits matched idle id rng problem spent
  wiring _checks _client _listener _name_of _principal _topic _when api_keys family
  passing armed_ms starts_ms ends_ms waiting cursor reported _known_topics
mockbroker.faults.fault_set.FaultSet
  kept _rules _next
  wiring _brokers _clock _name_of _served _substream _tell certificates
  passing _any _by_about _by_api retired
mockbroker.log.epoch_cache.LeaderEpochCache
  growing epochs start_offsets
mockbroker.log.producer_state.ProducerStateEntry
  kept batches coordinator_epoch current_txn_first_offset last_timestamp producer_epoch
mockbroker.log.producer_state.ProducerStateManager
  kept _ongoing _unreplicated producers
mockbroker.log.aborted.AbortedIndex
  kept _entries
  passing _last_offsets
mockbroker.log.segment.Segment
  kept base_offset entries first_timestamp max_timestamp
  kept size_bytes created_wall_ms modified_wall_ms blocks
  wiring _index_interval_bytes
  passing _bytes_since_index_entry _index_offsets _index_positions _tail _tail_start _timestamps
  passing block_starts
mockbroker.log.unified_log.UnifiedLog
  kept first_dirty_offset _aborted _first_unstable_offset _producers high_watermark
  kept log_start_offset log_end_offset _segments
  wiring config partition topic
  growing _epochs flushed_offset
  passing _idle_read _end_metadata must_roll wants_upkeep
mockbroker.metadata.controller.Controller
  wiring _store config rng
mockbroker.metadata.replication_control.ReplicationControl
  wiring _store
  passing _balance_check _balanced_version
mockbroker.metadata.store.MetadataStore
  kept acls brokers client_quotas features log_levels resource_configs topics config
  kept scram_credentials delegation_tokens
  kept topics_by_id _colliding
  wiring _listeners _listeners_before cluster_id
  growing version
  passing _acl_index _group_configs
mockbroker.metadata.store.Topic
  kept config configs id internal name partitions
mockbroker.node.broker.Broker
  kept services
  wiring _max_frame_bytes registry journal broker_id _clock _timer _receive_area
  wiring take_for_brokers take_outbox
  passing _connections _outbox requests
  passing unread_bytes
  growing connections_opened connections_refused loop_blocked rounds_skipped
mockbroker.node.request_handler.RequestHandler
  wiring services broker_id _clock _timer _journal _connections _outbox connections faults
  passing runnable step_cause _over turn_over beside latest unfinished slices _unread
  growing requests_refused
mockbroker.quorum.metadata_log.MetadataLog
  wiring config partition topic
  growing _aborted _end_metadata _epochs _first_unstable_offset _idle_read _producers _segments
  growing first_dirty_offset flushed_offset high_watermark log_end_offset log_start_offset
  growing must_roll wants_upkeep
mockbroker.quorum.observers.Observers
  wiring _clock
  passing _replicas
mockbroker.quorum.quorum.MetadataQuorum
  kept commits_held
  wiring allocate_producer_ids clock directory_id leader_id listeners observers remote_brokers
  wiring store translation _advance_wakes _broker_listeners _commit_delay_ms _defer _idle_ms
  wiring _rng _supported _timer
  growing epoch high_watermark log _epoch_start
  passing is_leader _advanced _no_op_task _parked _waking
mockbroker.quorum.remote_brokers.RemoteBrokers
  wiring _clock _controller _log _logged _session_ms _store _timer
  passing registered _sessions
mockbroker.quorum.translation.Translation
  wiring _register _new_id
  passing registrations _configs _partitions _states _quotas _acl_ids
mockbroker.replica.fetchers.ReplicaFetchers
  kept _held _version
  wiring _clock _config _connect _node_id _timer
  passing _by_leader _leader_of ready
  growing broker_epoch
mockbroker.replica.in_sync.Follower
  passing broker_epoch caught_up_ms fetched_ms leader_end_offset log_end_offset log_start_offset
  passing reader
  wiring replica_id
mockbroker.replica.in_sync.Followers
  wiring _metadata leader_id state
  passing _by_id _now_ms proposed
mockbroker.replica.log_dirs.LogDirs
  kept _placed _wanted
  wiring _config _replicas
mockbroker.replica.log_reader.LogReader
  passing _checks_reader _is_follower available budget bytes_read fetched last_size_bytes
  passing leader_errors min_one params respond_now
mockbroker.replica.log_memory.LogMemory
  wiring limit_bytes _host _generation_bytes
  passing held_bytes is_full _held _oldest _is_ordered
  growing deleted_bytes deleted_segments refused _appended_bytes _newest_wall_ms
mockbroker.replica.log_upkeep.LogUpkeep
  wiring _clock _config _timer _duties
  passing _task _uncleanable
  growing looks rounds
mockbroker.replica.log_upkeep._Duty
  wiring first_ms interval wants work
  passing due next_due
mockbroker.replica.manager.ReplicaManager
  kept _partitions held_high_watermarks log_dirs
  wiring broker_id clock config journal kept_logs metadata propose_isr on_role upkeep
  wiring gave_back log_memory
  wiring fetch_purgatory produce_purgatory delete_records_purgatory
  passing draining puts_off ready waking _under_replicated
  growing follower_fetches_expired
mockbroker.replica.partition.Partition
  kept deleted high_watermark_held is_leader leader_id state log index topic topic_id
  wiring _host followers high_watermark_listener
  growing leader_epoch _led_epoch epoch_start_offset messages_in bytes_in
  growing messages_out bytes_out
  passing _first_watcher _last_watcher cause ready writable_log
mockbroker.security.quotas.QuotaManager
  kept _rates
  wiring _clock _config _metadata
mockbroker.security.rate.Rate
  kept _samples _window_ms _kept _current
mockbroker.security.rate._Sample
  kept start_ms last_ms value
mockbroker.telemetry.client_metrics.ClientMetrics
  kept _subscriptions pushed
  wiring _clock _config _metadata _rng
  passing _by_connection _instances _version
"""

_GROWING_FIELDS = {
    "PartitionState": frozenset({"leader_epoch", "partition_epoch"}),
    "BrokerInfo": frozenset({"epoch"}),
}
"""Of tuples."""


_PLAIN = (str, bytes, bytearray, memoryview, int, float, Enum, array, Random, partial, type)
_NOTHING: tuple[object, ...] = (None, 0, -1, "", b"", [], {})


class Owner(NamedTuple):
    """The attributes of a class: what a dump shows, and all that the table names."""

    kept: tuple[str, ...]
    named: frozenset[str]


def _owners() -> dict[str, Owner]:
    kept: dict[str, list[str]] = {}
    named: dict[str, list[str]] = {}
    name = ""
    for line in _TABLE.strip().splitlines():
        if line.startswith(" "):
            kind, *attributes = line.split()
            named[name] += attributes
            kept[name] += attributes if kind == "kept" else ()
        else:
            name = line
            kept[name], named[name] = [], []
    return {name: Owner(tuple(kept[name]), frozenset(named[name])) for name in named}


OWNERS = _owners()


_AS_THEY_ARE = frozenset((NoneType, str, bytes, int, float, bool))


def dump(cluster: Cluster) -> dict[str, Any]:
    """What is kept, as plain values; a path of names leads to each."""
    found = _dump(cluster)
    assert isinstance(found, dict)
    for node, shown in zip(cluster.nodes, found["nodes"], strict=True):
        if node.broker is None:  # it reads the configs that there are when it starts
            for each in ("_dynamic", "_dynamic_default"):
                shown.get("config", {}).pop(each, None)
    return found


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Where two dumps differ: a path and both values for each."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            yield from differences(before.get(key), after.get(key), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        by_place = dict(enumerate(before)), dict(enumerate(after))
        yield from differences(*by_place, path)
    else:
        yield f"{path}: {before!r} became {after!r}"


def uncovered(root: object) -> set[str]:
    """Classes and attributes below `root` that `OWNERS` does not name."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or _is_plain(one):
            continue
        seen.add(id(one))
        if isinstance(one, Mapping):
            waiting += [*one, *one.values()]
        elif isinstance(one, tuple | list | set | frozenset | deque):
            waiting += one
        elif type(one).__module__.startswith("mockbroker"):
            attributes = attributes_of(one)
            found |= _not_named(one, attributes)
            waiting += [getattr(one, name, None) for name in attributes]
    return found


def attributes_of(one: object) -> list[str]:
    """The names of an object's attributes, of slots too."""
    names = list(getattr(one, "__dict__", ()))
    for kind in type(one).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return [name for name in dict.fromkeys(names) if not name.startswith("__")]


def _not_named(one: object, attributes: list[str]) -> set[str]:
    name = _name(one)
    owner = OWNERS.get(name)
    if owner is None:
        return set() if name.startswith(_APART) else {name}
    return {f"{name}.{attribute}" for attribute in attributes if attribute not in owner.named}


def _name(one: object) -> str:
    return f"{type(one).__module__}.{type(one).__qualname__}"


def _is_plain(one: object) -> bool:
    return one is None or isinstance(one, _PLAIN) or isroutine(one)


def _dump(one: Any) -> Any:
    kind = type(one)
    if kind in _AS_THEY_ARE:
        return one
    return _dumper_of(kind)(one)  # type: ignore[arg-type]  # hashable


@cache
def _dumper_of(kind: type) -> Callable[[Any], Any]:
    """How the objects of a class become plain values."""
    for bases, dumper in _DUMPERS.items():
        if issubclass(kind, bases):
            return dumper
    if hasattr(kind, "_fields"):
        return _named_tuple
    if issubclass(kind, tuple | list | deque | array):
        return _sequence
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name == "mockbroker.log.segment.Segment":
        return _segment
    names = (f"{each.__module__}.{each.__qualname__}" for each in kind.__mro__)
    owner = next((OWNERS[each] for each in names if each in OWNERS), None)
    if owner is None:
        return repr
    kept = owner.kept
    return lambda one: _filled({name: _dump(getattr(one, name)) for name in kept})


def _mapping(one: Mapping[Any, Any]) -> dict[str, Any]:
    # A mapping to None is an ordered set: its keys count.
    return _filled(
        {_key(key): "there" if value is None else _dump(value) for key, value in one.items()}
    )


def _named_tuple(one: Any) -> dict[str, Any]:
    growing = _GROWING_FIELDS.get(type(one).__name__, frozenset())
    return _mapping({name: getattr(one, name) for name in one._fields if name not in growing})


def _sequence(one: Iterable[Any]) -> list[Any]:
    return [_dump(each) for each in one]


_DUMPERS: dict[UnionType | type, Callable[[Any], Any]] = {
    Random: lambda one: hash(one.getstate()),
    Enum: lambda one: one.name,
    memoryview | bytearray: bytes,
    str | bytes | int | float: lambda one: one,
    Mapping: _mapping,
    set | frozenset: lambda one: sorted(map(str, one)),
}


def _segment(segment: Any) -> object:
    """Blocks may be longer than what was written into them."""
    batches = [bytes(segment.batch(at)) for at in range(len(segment))]
    kept = {name: getattr(segment, name) for name in OWNERS[_name(segment)].kept}
    return _dump({**kept, "blocks": batches})


def _filled(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if value not in _NOTHING}


def _key(key: object) -> str:
    return key.hex() if isinstance(key, bytes) else str(key)
