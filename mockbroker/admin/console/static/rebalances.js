// Why a group rebalanced, read off the journal's requests: who came, who left, who went silent.

const REBALANCE_IN_PROGRESS = 27;
const MEMBER_ID_REQUIRED = 79;
const REFUSED = {
  22: "it is of a generation that is over",
  25: "it is no member any more",
  82: "another member has its group.instance.id",
  110: "another member has its id, or it is behind the group's epoch",
};

// Steps, newest last: {key, at_ms, client, number, text, errors, bad}.
export function rebalancesOf(lines) {
  const course = new Course(lastOfEach(lines));
  lines.forEach((line, index) => {
    if (line.group) course.take(line, index);
  });
  return course.steps;
}

// The last line of each connection, by which one that left is known to have gone on.
function lastOfEach(lines) {
  const last = new Map();
  lines.forEach((line, index) => last.set(connectionOf(line), index));
  return last;
}

function connectionOf(line) {
  return `${line.broker} ${line.connection}`;
}

class Course {
  constructor(last) {
    this.last = last;
    this.steps = [];
    this.members = new Map();
    this.generation = null;
    this.next = { generation: null, members: new Map() };
    this.left = new Set();
  }

  step(line, index, text, bad = false) {
    const errors = line.errors.filter((code) => code !== MEMBER_ID_REQUIRED);
    this.steps.push({ key: index, at_ms: line.completed_ms, client: line.client_id, number: line.number, text, errors, bad });
  }

  take(line, index) {
    const errors = line.errors.filter((code) => code !== MEMBER_ID_REQUIRED);
    const who = line.client_id;
    if (line.api === "LeaveGroup") this.leave(line, index);
    else if (errors.includes(REBALANCE_IN_PROGRESS)) this.step(line, index, `${line.api} of ${who} was told to join again`);
    else if (errors.length) this.step(line, index, refusal(line, errors), true);
    else if (line.api === "JoinGroup") this.join(line);
    else if (line.api === "SyncGroup") this.begin(line, index);
    else if (line.api === "ConsumerGroupHeartbeat") this.beat(line, index);
  }

  leave(line, index) {
    this.left.add(line.group.member || line.client_id);
    const goesOn = this.last.get(connectionOf(line)) > index;
    const why = goesOn ? ", and its connection went on: so do clients whose application polls more seldom than max.poll.interval.ms, or unsubscribes" : "";
    this.step(line, index, `${line.client_id} left${why}`);
  }

  join(line) {
    const { member, answered_generation: generation } = line.group;
    if (generation === null || generation === undefined) return;
    if (generation === this.generation) {
      // Once more, by a follower that missed the answer: nothing changes.
      this.members.set(member, line.client_id);
      return;
    }
    if (generation !== this.next.generation) this.next = { generation, members: new Map() };
    this.next.members.set(member, line.client_id);
  }

  begin(line, index) {
    const { generation, members } = this.next;
    if (generation === null || generation === this.generation) return;
    this.step(line, index, `generation ${generation}: ${this.why(members)}`);
    this.generation = generation;
    this.members = members;
    this.left = new Set();
  }

  beat(line, index) {
    const { generation, answered_generation: epoch } = line.group;
    const who = line.client_id;
    if (generation === 0) this.step(line, index, `${who} joined${epoch ? `, epoch ${epoch}` : ""}`);
    else if (generation < 0) this.leave(line, index);
    else if (epoch !== null && epoch !== undefined && epoch !== generation) this.step(line, index, `${who} went from epoch ${generation} to ${epoch}`);
  }

  why(members) {
    const came = [...members].filter(([member]) => !this.members.has(member)).map(([, who]) => who);
    const gone = [...this.members].filter(([member]) => !members.has(member));
    const hasLeft = ([member, who]) => this.left.has(member) || this.left.has(who);
    const left = gone.filter(hasLeft).map(([, who]) => who);
    const silent = gone.filter((one) => !hasLeft(one)).map(([, who]) => who);
    const parts = [];
    if (came.length) parts.push(`${came.join(", ")} came`);
    if (left.length) parts.push(`${left.join(", ")} left`);
    if (silent.length) parts.push(`${silent.join(", ")} did not come back: no LeaveGroup, so a session or rebalance time-out`);
    if (!parts.length) parts.push("the same members joined again: a subscription or its metadata changed");
    return `${parts.join("; ")}. ${members.size} member${members.size === 1 ? "" : "s"}`;
  }
}

function refusal(line, errors) {
  const offsets = (line.group.offsets || []).map((one) => `${one.topic}-${one.partition} offset ${one.offset}`).join(", ");
  const about = offsets && line.api.endsWith("Commit") ? ` of ${offsets}` : "";
  const why = errors.map((code) => REFUSED[code]).find((text) => text);
  return `${line.api} of ${line.client_id}${about} was refused${why ? `: ${why}` : ""}`;
}
