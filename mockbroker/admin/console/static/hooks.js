// What views share: the address, an answer that is asked for again and again, actions.

import { useState, useEffect, useRef, useCallback } from "./vendor/preact-htm.js";
import { changesMade, get, newBill, readOnly, restMs } from "./api.js";
import { address, onAddress } from "./router.js";

const REST_MS = 150;
// What has each poll that is shown ask at once.
const wakes = new Set();
let lastOpened = -Infinity;

export function useAddress() {
  const [now, setNow] = useState(address);
  useEffect(() => onAddress(() => setNow(address())), []);
  return now;
}

// `load` gives a promise, and adds to the bill that it is given; it is called again while the page is
// looked at, and at once when the page has changed something. A `key` that changes begins anew. Gives
// the last value and the problem of the last try.
export function usePolled(load, key, leastMs = 1000) {
  const [found, setFound] = useState({ key: null, value: null, problem: null });
  const loadNow = useRef(load);
  loadNow.current = load;
  useEffect(() => {
    let ended = false;
    let timer = 0;
    let running = false;
    let again = false;
    const run = async () => {
      if (running) {
        again = true;
        return;
      }
      clearTimeout(timer);
      running = true;
      const bill = newBill();
      const next = { key, value: null, problem: null };
      try {
        next.value = await loadNow.current(bill);
      } catch (problem) {
        next.problem = problem;
      }
      running = false;
      if (ended) return;
      setFound((before) => (next.problem && before.key === key ? { ...next, value: before.value } : next));
      if (again) {
        again = false;
        run();
      } else if (!readOnly) {
        timer = setTimeout(step, restMs(bill, leastMs));
      }
    };
    const step = () => (document.hidden ? (timer = setTimeout(step, 500)) : run());
    wakes.add(run);
    run();
    return () => {
      ended = true;
      wakes.delete(run);
      clearTimeout(timer);
    };
  }, [key]);
  const current = found.key === key ? found : { value: null, problem: null };
  return { value: current.value, problem: current.problem };
}

// Whether it stayed as it is for a moment: what an arrow key that is held passes by is not asked for.
export function useRested(what) {
  const [rested, setRested] = useState(() => performance.now() - lastOpened > REST_MS);
  useEffect(() => {
    lastOpened = performance.now();
    if (rested) return undefined;
    const timer = setTimeout(() => setRested(true), REST_MS);
    return () => clearTimeout(timer);
  }, [what]);
  return rested;
}

export function useGet(path, leastMs) {
  return usePolled((bill) => get(path, bill), path, leastMs);
}

// An action with its outcome: [state, run], state being {busy, problem, done}. What it changed may show
// anywhere in the view, whose polls may rest for long where the broker has little time.
export function useAction() {
  const [state, setState] = useState({ busy: false, problem: null, done: null });
  const run = useCallback(async (what) => {
    const before = changesMade();
    setState({ busy: true, problem: null, done: null });
    try {
      const done = await what();
      setState({ busy: false, problem: null, done: done || true });
    } catch (problem) {
      setState({ busy: false, problem, done: null });
    }
    // Behind a change of the address, by which a view that is left asks no more.
    if (changesMade() > before) setTimeout(lookAgain);
  }, []);
  return [state, run];
}

export function lookAgain() {
  for (const wake of wakes) wake();
}
