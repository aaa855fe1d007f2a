// Tests of a service with kafkajs against a broker that runs beside them:
//
//   curl -so openapi.json http://localhost:9644/v1/openapi.json
//   npm ci && npm run generate && npm test
//
// MOCKBROKER_BOOTSTRAP and MOCKBROKER_ADMIN say where; by default as docker-compose.yml has it.
// `npm run check` checks the calls of the admin API against the types that were generated.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import kafkajs from "kafkajs";
import createClient from "openapi-fetch";

const bootstrap = process.env.MOCKBROKER_BOOTSTRAP ?? "localhost:9092";

/** @type {import("openapi-fetch").Client<import("./admin.gen.js").paths>} */
const api = createClient({
  baseUrl: process.env.MOCKBROKER_ADMIN ?? "http://localhost:9644",
  headers: { Authorization: `Bearer ${process.env.MOCKBROKER_ADMIN_TOKEN ?? ""}` },
});
const kafka = new kafkajs.Kafka({ brokers: [bootstrap], logLevel: kafkajs.logLevel.NOTHING });

/** What a call answered; an error of the API fails the test with its text.
 * @template T
 * @param {{ data?: T, error?: unknown }} answer */
function ok({ data, error }) {
  assert.equal(error, undefined);
  return /** @type {T} */ (data);
}

beforeEach(async () => ok(await api.POST("/v1/reset")));

test("an order is read", async () => {
  ok(
    await api.POST("/v1/topics/{name}/records", {
      params: { path: { name: "orders" } },
      body: { records: [{ key: "7", value: "lamp" }] },
    }),
  );
  const consumer = kafka.consumer({ groupId: "billing" });
  await consumer.connect();
  await consumer.subscribe({ topic: "orders", fromBeginning: true });
  const value = await new Promise((resolve) =>
    consumer.run({ eachMessage: async ({ message }) => resolve(String(message.value)) }),
  );
  await consumer.disconnect();
  assert.equal(value, "lamp");
});

test("an invoice arrives though the leader is elsewhere twice", async () => {
  const rule = { api: "Produce", error: "NOT_LEADER_OR_FOLLOWER", count: 2 };
  const armed = ok(await api.POST("/v1/faults", { body: { rules: [rule] } }));
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: "invoices", messages: [{ value: "250 EUR" }] });
  await producer.disconnect();
  const path = { fault_id: armed.faults[0].id };
  assert.equal(ok(await api.GET("/v1/faults/{fault_id}", { params: { path } })).hits, 2);
});

test("a week later the orders are gone", async () => {
  const params = { path: { name: "orders" } };
  ok(await api.POST("/v1/topics/{name}/records", { params, body: { records: [{ value: "lamp" }] } }));
  ok(await api.POST("/v1/clock/advance", { body: { ms: 8 * 24 * 3600 * 1000 } }));
  assert.deepEqual(ok(await api.GET("/v1/topics/{name}/records", { params })).records, []);
});
