// The views by the first word of the address, in the order of the navigation.

import { Clock } from "./clock.js";
import { Cluster } from "./cluster.js";
import { Compatibility } from "./compatibility.js";
import { Config } from "./config.js";
import { Faults } from "./faults.js";
import { Fetch } from "./fetch.js";
import { Groups } from "./groups.js";
import { Requests } from "./requests.js";
import { Snapshots } from "./snapshots.js";
import { Topics } from "./topics.js";
import { Transactions } from "./transactions.js";

export const VIEWS = [
  ["requests", "Requests", Requests],
  ["fetch", "Fetch", Fetch],
  ["topics", "Topics", Topics],
  ["groups", "Groups", Groups],
  ["transactions", "Transactions", Transactions],
  ["cluster", "Cluster", Cluster],
  ["faults", "Faults", Faults],
  ["clock", "Clock", Clock],
  ["snapshots", "Snapshots", Snapshots],
  ["config", "Config", Config],
  ["compatibility", "Compatibility", Compatibility],
];
