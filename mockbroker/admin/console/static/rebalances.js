// Why a group rebalanced, read off the journal's requests: who came, who left, who went silent.

// Steps, newest last: {key, at_ms, text, errors, bad}.
export function rebalancesOf(lines) {
  const steps = [];
  const round = { joined: new Map(), left: new Set(), began: null };
  let members = new Map();
  let generation = null;
  lines.forEach((line, index) => {
    const group = line.group;
    if (!group) return;
    const who = line.client_id;
    const step = (text, bad = false) =>
      steps.push({ key: index, at_ms: line.completed_ms, text, errors: line.errors.filter((code) => code !== 79), bad: bad || line.errors.some((code) => code !== 79 && code !== 27) });
    if (line.api === "LeaveGroup") {
      round.left.add(group.member || who);
      step(`${who} left`);
    } else if (line.api === "JoinGroup" && !line.errors.length && group.answered_generation !== null && group.answered_generation !== undefined) {
      round.joined.set(group.member, who);
      if (group.answered_generation !== generation) {
        if (round.began !== null && round.generation !== group.answered_generation) round.joined = new Map([[group.member, who]]);
        round.generation = group.answered_generation;
        round.began = line.arrived_ms;
      }
    } else if (line.api === "JoinGroup" && line.errors.some((code) => code !== 79)) {
      step(`${who} could not join`, true);
    } else if (line.api === "SyncGroup" && !line.errors.length && round.generation !== undefined && round.generation !== generation) {
      step(`generation ${round.generation}: ${whyOf(members, round)}`);
      generation = round.generation;
      members = round.joined;
      round.joined = new Map();
      round.left = new Set();
      round.began = null;
    } else if (line.api === "ConsumerGroupHeartbeat") {
      const epoch = group.answered_generation;
      if (group.generation === 0) step(`${who} joined${epoch ? `, epoch ${epoch}` : ""}`);
      else if (group.generation < 0) step(`${who} left`);
      else if (epoch !== null && epoch !== undefined && epoch !== group.generation && !line.errors.length) step(`${who} went from epoch ${group.generation} to ${epoch}`);
      else if (line.errors.length) step(`${who} was refused`, true);
    } else if (line.errors.some((code) => code === 27)) {
      step(`${line.api} of ${who} was told to join again`);
    } else if (line.errors.length && line.errors.some((code) => code !== 79)) {
      step(`${line.api} of ${who} was refused`, true);
    }
  });
  return steps;
}

function whyOf(before, round) {
  const came = [...round.joined].filter(([member]) => !before.has(member)).map(([, who]) => who);
  const gone = [...before].filter(([member]) => !round.joined.has(member));
  const left = gone.filter(([member, who]) => round.left.has(member) || round.left.has(who)).map(([, who]) => who);
  const silent = gone.filter(([member, who]) => !round.left.has(member) && !round.left.has(who)).map(([, who]) => who);
  const parts = [];
  if (came.length) parts.push(`${came.join(", ")} came`);
  if (left.length) parts.push(`${left.join(", ")} left`);
  if (silent.length) parts.push(`${silent.join(", ")} did not come back: no LeaveGroup, so a session or rebalance time-out`);
  if (!parts.length) parts.push("the same members joined again: a subscription or its metadata changed");
  return `${parts.join("; ")}. ${round.joined.size} member${round.joined.size === 1 ? "" : "s"}`;
}
