// The rows of a store that fit a filter: looked at some thousand at a time, so that no filter and no
// search holds up the page, however many rows there are.
//
// `source` has `rows`, in the order of their numbers, `dropped`, how many of them went at its front,
// and `began`, which changes when it begins anew.

export const SLICE_ROWS = 2000;

export class Shown {
  constructor(source) {
    this.source = source;
    this.key = null;
    this.restart(null, null);
  }

  restart(key, test) {
    this.key = key;
    this.test = test;
    this.rows = [];
    this.removed = 0; // at the front of `rows`, so far
    this.taken = this.source.dropped;
    this.began = this.source.began;
    this.lookedAt = 0;
    this.more = false;
  }

  // Looks at the next rows, of those before `end`; tells whether there are more. With an end it is a
  // frozen picture: what the store lets go stays in it.
  advance(key, test, end = Infinity) {
    const { source } = this;
    const frozen = end < Infinity;
    if (key !== this.key || (!frozen && this.began !== source.began)) this.restart(key, test);
    if (!frozen) this.trim();
    const from = Math.max(0, this.taken - source.dropped);
    const stop = Math.min(source.rows.length, end - source.dropped);
    const to = this.test === null ? stop : Math.min(stop, from + SLICE_ROWS);
    for (let at = from; at < to; at += 1) {
      if (this.test === null || this.test(source.rows[at])) this.rows.push(source.rows[at]);
    }
    if (to > from) {
      this.lookedAt += to - from;
      this.taken = source.dropped + to;
    }
    this.more = to < stop;
    return this.more;
  }

  // What the store let go goes here, too.
  trim() {
    const { rows, dropped } = this.source;
    this.taken = Math.max(this.taken, dropped);
    if (!rows.length || !this.rows.length || this.rows[0].number >= rows[0].number) return;
    const gone = placeFrom(this.rows, rows[0].number);
    this.rows = this.rows.slice(gone);
    this.removed += gone;
  }
}

// The place of the first row with this number or a larger one.
export function placeFrom(rows, wanted) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].number < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
