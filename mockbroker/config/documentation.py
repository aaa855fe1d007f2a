"""What each config is for, in a few words of our own, for clients that ask for documentation.

Loaded at the first such request. A line is `name: text`; a key without a line has no text.
"""

from __future__ import annotations

from typing import Final

BROKER_DOCUMENTATION: Final = """\
add.partitions.to.txn.retry.backoff.max.ms: Longest wait before adding partitions is tried again.
add.partitions.to.txn.retry.backoff.ms: First wait before adding partitions is tried again.
advertised.listeners: Addresses told to clients, where they differ from the listeners.
alter.config.policy.class.name: Class that may refuse config changes.
alter.log.dirs.replication.quota.window.num: Samples kept for the log directory move quota.
alter.log.dirs.replication.quota.window.size.seconds: Length of each of those samples.
authorizer.class.name: Class that decides what each principal may do.
auto.create.topics.enable: Create a topic when a client first asks for it.
auto.leader.rebalance.enable: Give leadership back to preferred replicas in the background.
background.threads: Threads for background work.
broker.heartbeat.interval.ms: Time between a broker's heartbeats to the controller.
broker.id: Id of this broker; the same as node.id.
broker.rack: Rack of this broker, for placement and for reading from near replicas.
broker.session.timeout.ms: Silence after which the controller fences a broker.
client.quota.callback.class: Class that computes client quotas.
compression.gzip.level: Level of gzip when the broker compresses.
compression.lz4.level: Level of lz4 when the broker compresses.
compression.type: Codec that a topic is stored in; producer keeps what was sent.
compression.zstd.level: Level of zstd when the broker compresses.
config.providers: Names of the providers that resolve config variables.
connection.failed.authentication.delay.ms: Wait before a failed login's connection is closed.
connections.max.idle.ms: Idle time after which a connection is closed.
connections.max.reauth.ms: Longest life of a login before a client must renew it; 0 is for ever.
controlled.shutdown.enable: Move leaders away before a broker stops.
controller.listener.names: Listeners that the controller uses.
controller.performance.always.log.threshold.ms: Controller events slower than this are logged.
controller.performance.sample.period.ms: How often the controller's speed is logged.
controller.quorum.append.linger.ms: Wait for more records before the leader writes its log.
controller.quorum.auto.join.enable: Let a controller join the voters by itself.
controller.quorum.bootstrap.servers: Addresses where the controllers' quorum is found.
controller.quorum.election.backoff.max.ms: Longest wait between elections.
controller.quorum.election.timeout.ms: Longest wait for votes before a new election.
controller.quorum.fetch.max.bytes: Bytes of the metadata log that one fetch may bring.
controller.quorum.fetch.snapshot.max.bytes: Bytes of a snapshot that one fetch may bring.
controller.quorum.fetch.timeout.ms: Silence of the leader after which a voter stands for election.
controller.quorum.request.timeout.ms: Longest wait for an answer within the quorum.
controller.quorum.retry.backoff.ms: Wait before a request within the quorum is sent again.
controller.quorum.voters: Ids and addresses of the voters.
controller.quota.window.num: Samples kept for the quota on topic changes.
controller.quota.window.size.seconds: Length of each of those samples.
controller.socket.timeout.ms: Time-out of connections to the controller.
cordoned.log.dirs: Log directories that get no new replicas.
create.topic.policy.class.name: Class that may refuse new topics.
default.replication.factor: Replicas of a topic that names no factor.
delegation.token.expiry.check.interval.ms: How often expired delegation tokens are removed.
delegation.token.expiry.time.ms: Life of a delegation token until it must be renewed.
delegation.token.max.lifetime.ms: Longest life of a delegation token, renewed or not.
delegation.token.secret.key: Key that signs delegation tokens, the same on all nodes.
delete.records.purgatory.purge.interval.requests: Completed waits kept before they are swept.
delete.topic.enable: Allow topics to be deleted.
early.start.listeners: Listeners opened before the authorizer is ready.
errors.deadletterqueue.auto.create.topics.enable: Create topics for rejected records when needed.
errors.deadletterqueue.topic.name.prefix: How names of topics for rejected records begin.
fetch.max.bytes: Most bytes that a fetch answers, whatever the client asks.
fetch.purgatory.purge.interval.requests: Completed fetch waits kept before they are swept.
follower.fetch.last.tiered.offset.enable: Let an empty follower start at the last tiered offset.
group.consumer.assignment.interval.ms: Shortest time between two assignments of a consumer group.
group.consumer.assignor.offload.enable: Compute consumer assignments off the coordinator's thread.
group.consumer.assignors: Server-side assignors of consumer groups; the first is the default.
group.consumer.heartbeat.interval.ms: Heartbeat interval told to members of consumer groups.
group.consumer.max.assignment.interval.ms: Largest assignment interval that a group may set.
group.consumer.max.heartbeat.interval.ms: Largest heartbeat interval that a group may set.
group.consumer.max.session.timeout.ms: Largest session time-out that a group may set.
group.consumer.max.size: Most members of a consumer group.
group.consumer.migration.policy: Which way groups may move between the two protocols.
group.consumer.min.assignment.interval.ms: Smallest assignment interval that a group may set.
group.consumer.min.heartbeat.interval.ms: Smallest heartbeat interval that a group may set.
group.consumer.min.session.timeout.ms: Smallest session time-out that a group may set.
group.consumer.regex.refresh.interval.ms: How often pattern subscriptions are resolved again.
group.consumer.session.timeout.ms: Silence after which a member leaves its consumer group.
group.coordinator.append.linger.ms: Wait for more records before a coordinator writes; -1 adapts.
group.coordinator.background.threads: Threads for the group coordinator's background work.
group.coordinator.cached.buffer.max.bytes: Largest write buffer that a coordinator keeps.
group.coordinator.rebalance.protocols: Group protocols that are enabled.
group.coordinator.threads: Threads that run group coordinators.
group.initial.rebalance.delay.ms: Wait for more members before a new group's first rebalance.
group.max.session.timeout.ms: Largest session time-out that a classic member may ask for.
group.max.size: Most members of a classic group.
group.min.session.timeout.ms: Smallest session time-out that a classic member may ask for.
group.share.assignment.interval.ms: Shortest time between two assignments of a share group.
group.share.assignor.offload.enable: Compute share assignments off the coordinator's thread.
group.share.assignors: Server-side assignors of share groups.
group.share.delivery.count.limit: Deliveries of a record before it is given up.
group.share.dlq.manager.class.name: Class that keeps rejected records.
group.share.heartbeat.interval.ms: Heartbeat interval told to members of share groups.
group.share.initialize.retry.interval.ms: Wait before share state is initialised again.
group.share.max.assignment.interval.ms: Largest assignment interval that a share group may set.
group.share.max.delivery.count.limit: Largest delivery limit that a share group may set.
group.share.max.heartbeat.interval.ms: Largest heartbeat interval that a share group may set.
group.share.max.partition.max.record.locks: Largest limit on locked records that a group may set.
group.share.max.record.lock.duration.ms: Longest lock on a record that a group may set.
group.share.max.session.timeout.ms: Largest session time-out that a share group may set.
group.share.max.share.sessions: Most share sessions on a broker.
group.share.max.size: Most members of a share group.
group.share.min.assignment.interval.ms: Smallest assignment interval that a share group may set.
group.share.min.delivery.count.limit: Smallest delivery limit that a share group may set.
group.share.min.heartbeat.interval.ms: Smallest heartbeat interval that a share group may set.
group.share.min.partition.max.record.locks: Smallest limit on locked records that a group may set.
group.share.min.record.lock.duration.ms: Shortest lock on a record that a group may set.
group.share.min.session.timeout.ms: Smallest session time-out that a share group may set.
group.share.partition.max.record.locks: Records of a partition that may be locked at once.
group.share.persister.class.name: Class that stores the state of share groups.
group.share.record.lock.duration.ms: How long a delivered record stays locked.
group.share.session.timeout.ms: Silence after which a member leaves its share group.
group.streams.acceptable.recovery.lag: Lag at which a task counts as caught up.
group.streams.assignment.interval.ms: Shortest time between two assignments of a streams group.
group.streams.assignor.offload.enable: Compute task assignments off the coordinator's thread.
group.streams.assignors: Server-side assignors of streams groups.
group.streams.heartbeat.interval.ms: Heartbeat interval told to members of streams groups.
group.streams.initial.rebalance.delay.ms: Wait for more members before a group's first tasks.
group.streams.max.assignment.interval.ms: Largest assignment interval that a group may set.
group.streams.max.heartbeat.interval.ms: Largest heartbeat interval that a streams group may set.
group.streams.max.session.timeout.ms: Largest session time-out that a streams group may set.
group.streams.max.size: Most members of a streams group.
group.streams.max.standby.replicas: Most standby copies of a task that a group may set.
group.streams.max.warmup.replicas: Most warm-up copies that a group may set.
group.streams.min.assignment.interval.ms: Smallest assignment interval that a group may set.
group.streams.min.heartbeat.interval.ms: Smallest heartbeat interval that a streams group may set.
group.streams.min.session.timeout.ms: Smallest session time-out that a streams group may set.
group.streams.min.task.offset.interval.ms: Smallest task offset interval that a group may set.
group.streams.num.standby.replicas: Standby copies of each task.
group.streams.num.warmup.replicas: Warm-up copies beyond the assigned tasks.
group.streams.rack.aware.assignment.tags: Client tags that keep standby copies apart.
group.streams.session.timeout.ms: Silence after which a member leaves its streams group.
group.streams.task.offset.interval.ms: How often members report task offsets.
group.streams.topology.description.plugin.class: Class that describes topologies.
initial.broker.registration.timeout.ms: Longest wait for a broker's first registration.
inter.broker.listener.name: Listener that brokers use among themselves.
kafka.metrics.polling.interval.secs: Polling interval of metrics reporters.
kafka.metrics.reporters: Reporters of the older metrics.
leader.imbalance.check.interval.seconds: How often leadership is checked for imbalance.
listener.security.protocol.map: Security protocol of each listener.
listeners: Addresses that the broker listens on.
log.cleaner.backoff.ms: Sleep of the cleaner when there is nothing to clean.
log.cleaner.dedupe.buffer.size: Memory in which the cleaner finds duplicate keys.
log.cleaner.delete.retention.ms: How long compacted topics keep tombstones.
log.cleaner.enable: Run the log cleaner.
log.cleaner.io.buffer.load.factor: How full the cleaner's key table may get.
log.cleaner.io.buffer.size: Memory of the cleaner for reading and writing.
log.cleaner.io.max.bytes.per.second: Most bytes a second that the cleaner moves.
log.cleaner.max.compaction.lag.ms: Longest time that a record stays uncompacted.
log.cleaner.min.cleanable.ratio: Share of dirty log from which it is worth cleaning.
log.cleaner.min.compaction.lag.ms: Shortest time that a record stays uncompacted.
log.cleaner.threads: Threads of the log cleaner.
log.cleanup.policy: What happens to old data: delete, compact or both.
log.dir: Directory of the logs, where log.dirs names none.
log.dir.failure.timeout.ms: How long a failed directory may stay unreported.
log.dirs: Directories of the logs.
log.flush.interval.messages: Records after which a partition is flushed to disk.
log.flush.interval.ms: Longest time that a record stays unflushed.
log.flush.offset.checkpoint.interval.ms: How often recovery points are written.
log.flush.scheduler.interval.ms: How often the flusher looks for logs to flush.
log.flush.start.offset.checkpoint.interval.ms: How often log start offsets are written.
log.index.interval.bytes: Bytes of log between two entries of its index.
log.index.size.max.bytes: Largest size of an index.
log.initial.task.delay.ms: Wait before the first background task on logs.
log.local.retention.bytes: Local bytes kept of a tiered partition; -2 follows the topic.
log.local.retention.ms: Local time kept of a tiered partition; -2 follows the topic.
log.message.timestamp.after.max.ms: How far ahead of the broker a timestamp may be.
log.message.timestamp.before.max.ms: How far behind the broker a timestamp may be.
log.message.timestamp.type: Timestamps are those of the producer or those of the append.
log.preallocate: Reserve a new segment's space at once.
log.remote.copy.lag.bytes: Bytes that stay local before they are copied to remote storage.
log.remote.copy.lag.ms: Time that data stays local before it is copied to remote storage.
log.retention.bytes: Bytes that a partition keeps; -1 is no limit.
log.retention.check.interval.ms: How often old data is looked for.
log.retention.hours: Hours that data is kept.
log.retention.minutes: Minutes that data is kept; goes before the hours.
log.retention.ms: Milliseconds that data is kept; goes before minutes and hours.
log.roll.hours: Hours after which a new segment begins.
log.roll.jitter.hours: Random hours taken off log.roll.hours.
log.roll.jitter.ms: Random milliseconds taken off log.roll.ms.
log.roll.ms: Milliseconds after which a new segment begins.
log.segment.bytes: Largest size of a segment.
log.segment.delete.delay.ms: Wait before a removed segment's files are deleted.
max.connection.creation.rate: Most new connections a second.
max.connections: Most connections of the broker.
max.connections.per.ip: Most connections from one address.
max.connections.per.ip.overrides: Connection limits of single addresses or hosts.
max.decompressed.message.bytes: Largest record that a compressed batch may hold, decompressed.
max.incremental.fetch.session.cache.slots: Most fetch sessions that are kept.
max.request.partition.size.limit: Most partitions in one answer of DescribeTopicPartitions.
message.max.bytes: Largest batch that the broker accepts.
metadata.log.dir: Directory of the metadata log.
metadata.log.max.record.bytes.between.snapshots: Bytes of metadata log between two snapshots.
metadata.log.max.snapshot.interval.ms: Longest time between two snapshots.
metadata.log.segment.bytes: Largest segment of the metadata log.
metadata.log.segment.ms: Longest life of a segment of the metadata log.
metadata.max.idle.interval.ms: How often an idle controller writes a no-op record.
metadata.max.retention.bytes: Bytes kept of the metadata log and its snapshots.
metadata.max.retention.ms: Time that the metadata log and its snapshots are kept.
metric.reporters: Classes that report metrics.
metrics.num.samples: Samples kept for a metric.
metrics.recording.level: Least level of a metric that is recorded.
metrics.sample.window.ms: Length of a metric's sample.
min.incremental.fetch.session.eviction.ms: Idle time after which a session may be evicted.
min.insync.replicas: In-sync replicas that a write with acks=all needs.
mockbroker.controller.fetch.max.version: Highest Fetch version of the controller's listener.
mockbroker.quorum.commit.delay.ms: Time after which a metadata record counts as committed.
mockbroker.version.profile: Which versions are served: widest, or those of Apache Kafka 4.4.
node.id: Id of this node.
num.io.threads: Threads that handle requests.
num.network.threads: Threads that read requests and write answers.
num.partitions: Partitions of a topic that names no count.
num.recovery.threads.per.data.dir: Threads for each directory when logs are loaded or flushed.
num.replica.alter.log.dirs.threads: Threads that move replicas between directories.
num.replica.fetchers: Fetchers of a follower for each leading broker.
offset.metadata.max.bytes: Largest metadata that comes with a committed offset.
offsets.commit.timeout.ms: Longest wait for an offset commit to be replicated.
offsets.load.buffer.size: Bytes read at once when offsets are loaded.
offsets.retention.check.interval.ms: How often expired offsets are looked for.
offsets.retention.minutes: Minutes that offsets of an empty group are kept.
offsets.topic.compression.codec: Codec number of the offsets topic's records.
offsets.topic.num.partitions: Partitions of the offsets topic.
offsets.topic.replication.factor: Replicas of the offsets topic.
offsets.topic.segment.bytes: Largest segment of the offsets topic.
principal.builder.class: Class that names the principal of a connection.
process.roles: What this node is: broker, controller or both.
producer.id.expiration.check.interval.ms: How often expired producer ids are looked for.
producer.id.expiration.ms: Idle time after which a producer id is forgotten.
producer.purgatory.purge.interval.requests: Completed produce waits kept before they are swept.
queued.max.request.bytes: Bytes of queued requests before reading stops; -1 is no limit.
queued.max.requests: Queued requests before reading stops.
quota.window.num: Samples kept for client quotas.
quota.window.size.seconds: Length of each of those samples.
remote.fetch.max.wait.ms: Longest wait of a fetch for remote storage.
remote.list.offsets.request.timeout.ms: Longest wait of an offset look-up for remote storage.
remote.log.index.file.cache.total.size.bytes: Space for indexes of remote segments.
remote.log.index.file.cache.ttl.ms: Idle time after which a cached index goes.
remote.log.manager.copier.thread.pool.size: Threads that copy segments to remote storage.
remote.log.manager.copy.max.bytes.per.second: Most bytes a second copied to remote storage.
remote.log.manager.copy.quota.window.num: Samples kept for the copy quota.
remote.log.manager.copy.quota.window.size.seconds: Length of each of those samples.
remote.log.manager.expiration.thread.pool.size: Threads that remove expired remote segments.
remote.log.manager.fetch.max.bytes.per.second: Most bytes a second read from remote storage.
remote.log.manager.fetch.quota.window.num: Samples kept for the remote fetch quota.
remote.log.manager.fetch.quota.window.size.seconds: Length of each of those samples.
remote.log.manager.follower.thread.pool.size: Threads for followers of tiered partitions.
remote.log.manager.task.interval.ms: How often segments are copied and removed.
remote.log.manager.thread.pool.size: Threads of the remote log manager.
remote.log.metadata.custom.metadata.max.bytes: Largest metadata that a remote plugin may add.
remote.log.metadata.manager.class.name: Class that keeps metadata of remote segments.
remote.log.metadata.manager.class.path: Class path of that class.
remote.log.metadata.manager.impl.prefix: How configs of that class begin.
remote.log.metadata.manager.listener.name: Listener that that class connects to.
remote.log.reader.max.pending.tasks: Most queued reads from remote storage.
remote.log.reader.threads: Threads that read from remote storage.
remote.log.storage.manager.class.name: Class that stores remote segments.
remote.log.storage.manager.class.path: Class path of that class.
remote.log.storage.manager.impl.prefix: How configs of that class begin.
remote.log.storage.system.enable: Allow tiered storage.
replica.fetch.backoff.ms: Wait of a follower after a failed fetch.
replica.fetch.max.bytes: Bytes that a follower fetches of one partition.
replica.fetch.min.bytes: Least bytes that a follower waits for.
replica.fetch.response.max.bytes: Bytes that a follower fetches at once.
replica.fetch.wait.max.ms: Longest wait of a follower's fetch.
replica.high.watermark.checkpoint.interval.ms: How often high watermarks are written.
replica.lag.time.max.ms: Lag after which a follower is out of sync.
replica.selector.class: Class that picks the replica that a consumer reads from.
replica.socket.receive.buffer.bytes: Receive buffer of a follower's connection.
replica.socket.timeout.ms: Time-out of a follower's connection.
replication.quota.window.num: Samples kept for the replication quota.
replication.quota.window.size.seconds: Length of each of those samples.
request.timeout.ms: Longest wait for an answer before a request fails.
sasl.client.callback.handler.class: Class that gives a client its credentials.
sasl.enabled.mechanisms: SASL mechanisms that clients may use.
sasl.jaas.config: JAAS entry of a listener or mechanism.
sasl.kerberos.kinit.cmd: Path of kinit.
sasl.kerberos.min.time.before.relogin: Least time between two Kerberos logins.
sasl.kerberos.principal.to.local.rules: Rules from Kerberos names to short names.
sasl.kerberos.service.name: Kerberos name of the brokers.
sasl.kerberos.ticket.renew.jitter: Random share added to the renewal time.
sasl.kerberos.ticket.renew.window.factor: Share of a ticket's life after which it is renewed.
sasl.login.callback.handler.class: Class that gives the login its credentials.
sasl.login.class: Class that logs in.
sasl.login.connect.timeout.ms: Longest wait for a connection to the token endpoint.
sasl.login.read.timeout.ms: Longest wait for an answer of the token endpoint.
sasl.login.refresh.buffer.seconds: Time kept free before a token expires.
sasl.login.refresh.min.period.seconds: Least time between two token refreshes.
sasl.login.refresh.window.factor: Share of a token's life after which it is refreshed.
sasl.login.refresh.window.jitter: Random share added to the refresh time.
sasl.login.retry.backoff.max.ms: Longest wait between two tries to log in.
sasl.login.retry.backoff.ms: First wait between two tries to log in.
sasl.mechanism.controller.protocol: SASL mechanism between brokers and controllers.
sasl.mechanism.inter.broker.protocol: SASL mechanism between brokers.
sasl.oauthbearer.allow.unverified.audience: Accept tokens whose audience is not checked.
sasl.oauthbearer.allow.unverified.issuer: Accept tokens whose issuer is not checked.
sasl.oauthbearer.assertion.algorithm: Algorithm that signs assertions.
sasl.oauthbearer.assertion.claim.aud: Audience claim of assertions.
sasl.oauthbearer.assertion.claim.exp.seconds: Life of an assertion.
sasl.oauthbearer.assertion.claim.iss: Issuer claim of assertions.
sasl.oauthbearer.assertion.claim.jti.include: Put a unique id into each assertion.
sasl.oauthbearer.assertion.claim.nbf.seconds: How far back an assertion becomes valid.
sasl.oauthbearer.assertion.claim.sub: Subject claim of assertions.
sasl.oauthbearer.assertion.file: File with a ready assertion.
sasl.oauthbearer.assertion.private.key.file: File with the key that signs assertions.
sasl.oauthbearer.assertion.private.key.passphrase: Passphrase of that key.
sasl.oauthbearer.assertion.template.file: File with headers and claims for assertions.
sasl.oauthbearer.client.credentials.client.id: Client id for the token endpoint.
sasl.oauthbearer.client.credentials.client.secret: Client secret for the token endpoint.
sasl.oauthbearer.clock.skew.seconds: Difference between clocks that is tolerated.
sasl.oauthbearer.expected.audience: Audiences that a token may be for.
sasl.oauthbearer.expected.issuer: Issuer that a token must come from.
sasl.oauthbearer.jwks.endpoint.refresh.ms: How often the provider's keys are fetched.
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms: Longest wait between two tries for the keys.
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms: First wait between two tries for the keys.
sasl.oauthbearer.jwks.endpoint.url: Where the provider's keys are.
sasl.oauthbearer.jwt.retriever.class: Class that gets tokens.
sasl.oauthbearer.jwt.validator.class: Class that checks tokens.
sasl.oauthbearer.scope: Scope asked for at the token endpoint.
sasl.oauthbearer.scope.claim.name: Claim that holds the scope.
sasl.oauthbearer.sub.claim.name: Claim that holds the subject.
sasl.oauthbearer.token.endpoint.url: Where tokens are got.
sasl.server.callback.handler.class: Class that checks a client's credentials.
sasl.server.max.receive.size: Largest message before a login is done.
security.inter.broker.protocol: Security protocol between brokers.
security.providers: Classes that bring security algorithms.
server.max.startup.time.ms: Longest time that a start may take.
share.coordinator.append.linger.ms: Wait for more records before a write; -1 adapts.
share.coordinator.cached.buffer.max.bytes: Largest write buffer that a coordinator keeps.
share.coordinator.load.buffer.size: Bytes read at once when share state is loaded.
share.coordinator.snapshot.update.records.per.snapshot: Updates between two snapshots of state.
share.coordinator.state.topic.compression.codec: Codec number of the share state topic's records.
share.coordinator.state.topic.min.isr: In-sync replicas that the share state topic needs.
share.coordinator.state.topic.num.partitions: Partitions of the share state topic.
share.coordinator.state.topic.replication.factor: Replicas of the share state topic.
share.coordinator.state.topic.segment.bytes: Largest segment of the share state topic.
share.coordinator.threads: Threads that run share coordinators.
share.coordinator.write.timeout.ms: Longest wait for share state to be replicated.
share.fetch.purgatory.purge.interval.requests: Completed share waits kept before they are swept.
socket.connection.setup.timeout.max.ms: Longest wait for a connection, after back-off.
socket.connection.setup.timeout.ms: First wait for a connection.
socket.listen.backlog.size: Connections that may wait to be accepted.
socket.receive.buffer.bytes: Receive buffer of a connection; -1 is the system's.
socket.request.max.bytes: Largest request.
socket.send.buffer.bytes: Send buffer of a connection; -1 is the system's.
ssl.allow.dn.changes: Allow a new certificate with another subject.
ssl.allow.san.changes: Allow a new certificate with other alternative names.
ssl.cipher.suites: Cipher suites that may be used.
ssl.client.auth: Whether a client must show a certificate.
ssl.enabled.protocols: TLS versions that may be used.
ssl.endpoint.identification.algorithm: How a server's name is checked.
ssl.engine.factory.class: Class that makes TLS engines.
ssl.key.password: Password of the private key.
ssl.keymanager.algorithm: Algorithm of the key manager.
ssl.keystore.certificate.chain: Certificate chain, as PEM.
ssl.keystore.key: Private key, as PEM.
ssl.keystore.location: File of the key store.
ssl.keystore.password: Password of the key store.
ssl.keystore.type: Format of the key store.
ssl.principal.mapping.rules: Rules from certificate subjects to short names.
ssl.protocol: TLS version of the context.
ssl.provider: Security provider of TLS.
ssl.secure.random.implementation: Source of randomness for TLS.
ssl.trustmanager.algorithm: Algorithm of the trust manager.
ssl.truststore.certificates: Trusted certificates, as PEM.
ssl.truststore.location: File of the trust store.
ssl.truststore.password: Password of the trust store.
ssl.truststore.type: Format of the trust store.
telemetry.max.bytes: Largest metrics payload that a client may push.
transaction.abort.timed.out.transaction.cleanup.interval.ms: How often overdue ones are aborted.
transaction.max.timeout.ms: Longest transaction time-out that a producer may ask for.
transaction.partition.verification.enable: Check that a partition belongs to its transaction.
transaction.remove.expired.transaction.cleanup.interval.ms: How often expired ids are removed.
transaction.state.log.load.buffer.size: Bytes read at once when transactions are loaded.
transaction.state.log.min.isr: In-sync replicas that the transaction topic needs.
transaction.state.log.num.partitions: Partitions of the transaction topic.
transaction.state.log.replication.factor: Replicas of the transaction topic.
transaction.state.log.segment.bytes: Largest segment of the transaction topic.
transaction.two.phase.commit.enable: Allow transactions that an outside coordinator ends.
transactional.id.expiration.ms: Idle time after which a transactional id is forgotten.
unclean.leader.election.enable: Let a replica that is out of sync lead when no other can.
unclean.leader.election.interval.ms: How often unclean elections are tried.
unstable.api.versions.enable: Serve API versions that are not stable yet.
unstable.feature.versions.enable: Allow feature levels that are not stable yet.
"""

TOPIC_DOCUMENTATION: Final = """\
cleanup.policy: What happens to old data: delete, compact or both.
delete.retention.ms: How long a compacted topic keeps tombstones.
errors.deadletterqueue.group.enable: Accept records that share groups rejected.
file.delete.delay.ms: Wait before a removed segment's files are deleted.
flush.messages: Records after which a partition is flushed to disk.
flush.ms: Longest time that a record stays unflushed.
follower.replication.throttled.replicas: Replicas whose follower is slowed down, or *.
index.interval.bytes: Bytes of log between two entries of its index.
internal.segment.bytes: Segment size below the usual least one, for tests.
leader.replication.throttled.replicas: Replicas whose leader is slowed down, or *.
local.retention.bytes: Local bytes kept of a tiered partition; -2 follows retention.bytes.
local.retention.ms: Local time kept of a tiered partition; -2 follows retention.ms.
max.compaction.lag.ms: Longest time that a record stays uncompacted.
max.message.bytes: Largest batch that the topic accepts.
message.timestamp.after.max.ms: How far ahead of the broker a timestamp may be.
message.timestamp.before.max.ms: How far behind the broker a timestamp may be.
message.timestamp.type: Timestamps are those of the producer or those of the append.
min.cleanable.dirty.ratio: Share of dirty log from which it is worth cleaning.
min.compaction.lag.ms: Shortest time that a record stays uncompacted.
preallocate: Reserve a new segment's space at once.
remote.copy.lag.bytes: Bytes that stay local before they are copied to remote storage.
remote.copy.lag.ms: Time that data stays local before it is copied to remote storage.
remote.log.copy.disable: Copy nothing more to remote storage, and only read from it.
remote.log.delete.on.disable: Delete remote data when tiered storage is turned off.
remote.storage.enable: Use tiered storage.
retention.bytes: Bytes that a partition keeps; -1 is no limit.
retention.ms: Time that data is kept; -1 is no limit.
segment.bytes: Largest size of a segment.
segment.index.bytes: Largest size of an index.
segment.jitter.ms: Random time taken off segment.ms.
segment.ms: Time after which a new segment begins.
"""

GROUP_DOCUMENTATION: Final = """\
consumer.assignment.interval.ms: Shortest time between two assignments of the consumer group.
consumer.heartbeat.interval.ms: Heartbeat interval told to the consumer group's members.
consumer.session.timeout.ms: Silence after which a member leaves the consumer group.
errors.deadletterqueue.copy.record.enable: Copy the whole of a rejected record.
errors.deadletterqueue.topic.name: Topic for records that the group rejects.
share.assignment.interval.ms: Shortest time between two assignments of the share group.
share.auto.offset.reset: Where a share group starts in a partition that it has not read.
share.delivery.count.limit: Deliveries of a record before it is given up.
share.heartbeat.interval.ms: Heartbeat interval told to the share group's members.
share.isolation.level: Whether the share group sees records of open transactions.
share.partition.max.record.locks: Records of a partition that may be locked at once.
share.record.lock.duration.ms: How long a delivered record stays locked.
share.renew.acknowledge.enable: Allow a member to renew its lock on a record.
share.session.timeout.ms: Silence after which a member leaves the share group.
streams.assignment.interval.ms: Shortest time between two assignments of the streams group.
streams.assignor.name: Assignor of the streams group.
streams.heartbeat.interval.ms: Heartbeat interval told to the streams group's members.
streams.initial.rebalance.delay.ms: Wait for more members before the group's first tasks.
streams.num.standby.replicas: Standby copies of each task.
streams.rack.aware.assignment.tags: Client tags that keep standby copies apart.
streams.session.timeout.ms: Silence after which a member leaves the streams group.
"""

_TEXTS: Final = dict(
    line.split(": ", 1)
    for table in (BROKER_DOCUMENTATION, TOPIC_DOCUMENTATION, GROUP_DOCUMENTATION)
    for line in table.splitlines()
)


def documentation(name: str) -> str | None:
    """The text of a key, None when there is none."""
    return _TEXTS.get(name)
