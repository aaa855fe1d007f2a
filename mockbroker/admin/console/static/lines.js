// Lines of the journal about one group or transactional id, as they come: each is asked for once.

import { useRef } from "./vendor/preact-htm.js";
import { get, pathOf } from "./api.js";
import { usePolled } from "./hooks.js";

const MOST_LINES = 1000;

// `filter` is one of the journal's, such as { group: "billing" }; the value is the lines, oldest first.
export function useLines(filter) {
  const key = JSON.stringify(filter);
  const seen = useRef(null);
  if (seen.current === null || seen.current.key !== key) seen.current = { key, cursor: 0, lines: [] };
  return usePolled(
    async (bill) => {
      const known = seen.current;
      const page = await get(pathOf("/v1/journal", { ...filter, since: known.cursor || null, limit: MOST_LINES }), bill);
      const before = page.next_cursor < known.cursor ? [] : known.lines; // fewer: the broker began anew
      seen.current = { key, cursor: page.next_cursor, lines: [...before, ...page.requests].slice(-MOST_LINES) };
      return seen.current.lines;
    },
    key,
    2000,
  );
}
