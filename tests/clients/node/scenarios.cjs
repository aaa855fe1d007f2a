// Programs of kafkajs for the tests, each of which prints what it found as one line of JSON.
//
//   node scenarios.cjs SCENARIO BOOTSTRAP|@CONFIG.json TOPIC

"use strict";

const { readFileSync } = require("node:fs");
const { once, EventEmitter } = require("node:events");
const { CompressionTypes, Kafka, logLevel } = require("kafkajs");

const [scenario, bootstrap, topic] = process.argv.slice(2);
const address = bootstrap.startsWith("@")
  ? JSON.parse(readFileSync(bootstrap.slice(1), "utf8"))
  : { brokers: [bootstrap] };
if (address.sasl?.token) {
  const { mechanism, token } = address.sasl;
  address.sasl = { mechanism, oauthBearerProvider: async () => ({ value: token }) };
}
const kafka = new Kafka({ ...address, logLevel: logLevel.NOTHING });
const PARTITIONS = 6;
const RECORDS = 3000;
const MEMBERS = 3;

async function withAdmin(work) {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

async function withProducer(options, work) {
  const producer = kafka.producer(options);
  await producer.connect();
  try {
    return await work(producer);
  } finally {
    await producer.disconnect();
  }
}

function createTopic(name, numPartitions) {
  return withAdmin((admin) => admin.createTopics({ topics: [{ topic: name, numPartitions }] }));
}

async function failure(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return error.type || error.name;
  }
}

// Three members share a topic and commit what they read; the first leaves in the middle.
async function group() {
  await createTopic(topic, PARTITIONS);
  const changed = new EventEmitter();
  const committed = {};
  const assigned = new Map();
  const count = () => Object.values(committed).reduce((sum, all) => sum + all.length, 0);
  const members = [];
  let leftWith = -1;
  let leaving = null;
  for (let index = 0; index < MEMBERS; index++) {
    const member = kafka.consumer({
      groupId: `${topic}-readers`,
      heartbeatInterval: 300,
      maxBytesPerPartition: 8192,
      // A member hears of a rebalance between two fetches.
      maxWaitTimeInMs: 200,
    });
    members.push(member);
    member.on(member.events.GROUP_JOIN, ({ payload }) => {
      assigned.set(index, (payload.memberAssignment[topic] || []).length);
      changed.emit("assigned");
    });
    await member.connect();
    await member.subscribe({ topic, fromBeginning: true });
    await member.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        if (index === 0 && leaving) return;
        const offset = String(BigInt(batch.lastOffset()) + 1n);
        // A rebalance refuses it: the records come again, to whoever has the partition then.
        await member.commitOffsets([{ topic, partition: batch.partition, offset }]);
        const numbers = (committed[batch.partition] ??= []);
        numbers.push(...batch.messages.map((message) => Number(message.value.toString())));
        if (index === 0 && count() >= RECORDS / 3) {
          leftWith = count();
          leaving = member.disconnect();
        }
        if (count() >= RECORDS) changed.emit("done");
      },
    });
  }
  const even = () =>
    assigned.size === MEMBERS && [...assigned.values()].every((n) => n === PARTITIONS / MEMBERS);
  while (!even()) await once(changed, "assigned");
  const done = once(changed, "done");
  await withProducer({}, async (producer) => {
    for (let start = 0; start < RECORDS; start += 300) {
      const messages = Array.from({ length: 300 }, (_, step) => ({
        partition: (start + step) % PARTITIONS,
        value: String(start + step),
      }));
      const compression = start % 600 ? CompressionTypes.GZIP : CompressionTypes.None;
      await producer.send({ topic, messages, compression });
    }
  });
  await done;
  await Promise.all([leaving, ...members.slice(1).map((member) => member.disconnect())]);
  const offsets = await withAdmin((admin) =>
    admin.fetchOffsets({ groupId: `${topic}-readers`, topics: [topic] }),
  );
  return { committed, leftWith, offsets: offsets[0].partitions.map((one) => Number(one.offset)) };
}

// A copy in transactions, each third given up first; then a successor fences its predecessor.
async function transactions() {
  const [source, target] = [`${topic}-from`, `${topic}-to`];
  await createTopic(source, 1);
  await createTopic(target, 1);
  const messages = Array.from({ length: 120 }, (_, number) => ({ value: String(number) }));
  await withProducer({}, (producer) => producer.send({ topic: source, messages }));
  const options = { transactionalId: `${topic}-mover`, maxInFlightRequests: 1, idempotent: true };
  const consumerGroupId = `${topic}-movers`;
  const first = kafka.producer(options);
  await first.connect();
  let aborted = 0;
  let attempt = 0;
  for (let start = 0; start < messages.length; ) {
    const batch = messages.slice(start, start + 10);
    const transaction = await first.transaction();
    await transaction.send({
      topic: target,
      messages: batch.map(({ value }) => ({ value: `done ${value}` })),
    });
    const offset = String(start + batch.length);
    const partitions = [{ partition: 0, offset }];
    await transaction.sendOffsets({ consumerGroupId, topics: [{ topic: source, partitions }] });
    attempt += 1;
    if (attempt % 3 === 0) {
      await transaction.abort();
      aborted += batch.length;
    } else {
      await transaction.commit();
      start += batch.length;
    }
  }
  const lost = await first.transaction();
  await lost.send({ topic: target, messages: [{ value: "lost" }] });
  await withProducer(options, async (second) => {
    const transaction = await second.transaction();
    await transaction.send({ topic: target, messages: [{ value: "kept" }] });
    await transaction.commit();
  });
  const fenced = await failure(lost.commit());
  await first.disconnect();
  const offsets = await withAdmin((admin) =>
    admin.fetchOffsets({ groupId: consumerGroupId, topics: [source] }),
  );
  return {
    aborted,
    fenced,
    committed: await readToEnd(target, false),
    everything: (await readToEnd(target, true)).length,
    offset: Number(offsets[0].partitions[0].offset),
  };
}

// The records of a partition, up to the end that the broker tells when it begins.
async function readToEnd(name, readUncommitted) {
  const [{ high }] = await withAdmin((admin) => admin.fetchTopicOffsets(name));
  const consumer = kafka.consumer({ groupId: `${name}-${readUncommitted}`, readUncommitted });
  const found = [];
  const changed = new EventEmitter();
  const ended = once(changed, "ended");
  await consumer.connect();
  await consumer.subscribe({ topic: name, fromBeginning: true });
  await consumer.run({
    eachBatchAutoResolve: true,
    eachBatch: async ({ batch }) => {
      found.push(...batch.messages.map((message) => message.value.toString()));
      if (BigInt(batch.lastOffset()) + 1n >= BigInt(high)) changed.emit("ended");
    },
  });
  await ended;
  await consumer.disconnect();
  return found;
}

// A read_committed reader beside an open transaction: a line for each record as it comes.
async function follow() {
  const groupId = `${topic}-followers-${process.pid}`;
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let idle = 0;
  consumer.on(consumer.events.END_BATCH_PROCESS, () => (idle = 0));
  consumer.on(consumer.events.FETCH, ({ payload }) => {
    idle = payload.numberOfBatches ? 0 : idle + 1;
    // Many fetches in a row that brought nothing: it sees no more for now.
    if (idle === 5) console.log(JSON.stringify("idle"));
  });
  await consumer.run({
    eachMessage: async ({ message }) => console.log(JSON.stringify(message.value.toString())),
  });
  process.stdin.resume();
  await once(process.stdin, "end");
  await consumer.disconnect();
  return "ended";
}

async function administration() {
  return withAdmin(async (one) => {
    const found = {};
    found.created = await one.createTopics({
      topics: [
        { topic, numPartitions: 2, configEntries: [{ name: "retention.ms", value: "5000" }] },
      ],
    });
    found.createdAgain = await one.createTopics({ topics: [{ topic, numPartitions: 2 }] });
    await one.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
    found.listed = (await one.listTopics()).includes(topic);
    const { topics } = await one.fetchTopicMetadata({ topics: [topic] });
    found.leaders = topics[0].partitions.map((partition) => partition.leader).sort();
    await withProducer({}, (producer) =>
      producer.send({
        topic,
        messages: Array.from({ length: 10 }, (_, n) => ({
          partition: 0,
          value: "x",
          timestamp: String(1000 + n),
        })),
      }),
    );
    const offsets = (all) =>
      all.map(({ partition, offset, low }) => [partition, Number(offset), Number(low)]);
    found.offsets = offsets(await one.fetchTopicOffsets(topic)).sort();
    found.byTimestamp = (await one.fetchTopicOffsetsByTimestamp(topic, 1004)).find(
      ({ partition }) => partition === 0,
    ).offset;
    await one.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "4" }] });
    found.afterDelete = offsets(await one.fetchTopicOffsets(topic)).sort()[0];
    const groupId = `${topic}-group`;
    await one.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: "7" }] });
    const fetched = await one.fetchOffsets({ groupId, topics: [topic] });
    found.setOffset = fetched[0].partitions.find(({ partition }) => partition === 0).offset;
    found.groupListed = (await one.listGroups()).groups.some((each) => each.groupId === groupId);
    const described = await one.describeGroups([groupId]);
    found.group = [described.groups[0].state, described.groups[0].members.length];
    found.deletedGroups = (await one.deleteGroups([groupId])).map((each) => each.errorCode);
    const resource = { type: 2, name: topic };
    await one.alterConfigs({
      validateOnly: false,
      resources: [{ ...resource, configEntries: [{ name: "cleanup.policy", value: "compact" }] }],
    });
    const configs = await one.describeConfigs({ includeSynonyms: false, resources: [resource] });
    const value = (name) =>
      configs.resources[0].configEntries.find((entry) => entry.configName === name).configValue;
    // AlterConfigs replaces all: retention.ms is the default again.
    found.configs = [value("cleanup.policy"), value("retention.ms")];
    const cluster = await one.describeCluster();
    found.cluster = [cluster.brokers.length, cluster.controller, cluster.clusterId.length];
    await one.deleteTopics({ topics: [topic] });
    found.deleted = !(await one.listTopics()).includes(topic);
    return found;
  });
}

({ admin: administration, follow, group, transactions })[scenario]().then(
  (found) => console.log(JSON.stringify(found)),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
