// A table of which only the rows in sight are there, so that 100,000 cost what 40 do.
//
// Rows have one height. It is one stop of the Tab key: arrows, Page, Home and End move within it,
// Enter opens, Escape closes.

import { html, useState, useEffect, useLayoutEffect, useRef } from "./vendor/preact-htm.js";

const OVERSCAN = 8;

// `removed` counts the rows that went at the front: what is in sight stays there.
export function Windowed({ label, count, removed = 0, rowHeight, renderRow, head, selected, onSelect, follow, onFollow, idPrefix = "row" }) {
  const box = useRef(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const followNow = useRef(follow);
  followNow.current = follow;
  useLayoutEffect(() => {
    const element = box.current;
    const measure = () => setView((one) => ({ ...one, height: element.clientHeight }));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const removedBefore = useRef(removed);
  useLayoutEffect(() => {
    const gone = removed - removedBefore.current;
    removedBefore.current = removed;
    if (gone > 0 && !follow) box.current.scrollTop -= gone * rowHeight;
  }, [removed]);
  useLayoutEffect(() => {
    if (follow) box.current.scrollTop = count * rowHeight;
  }, [count, follow]);
  useEffect(() => {
    if (selected >= 0) showRow(box.current, selected, rowHeight);
  }, [selected]);
  const first = Math.max(0, Math.min(count - 1, Math.floor(view.top / rowHeight)) - OVERSCAN);
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN);
  const rows = [];
  for (let index = first; index < last; index += 1) rows.push(renderRow(index, `${idPrefix}-${index}`));
  const onScroll = (event) => {
    const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
    setView({ top: scrollTop, height: clientHeight });
    const atEnd = scrollTop + clientHeight >= scrollHeight - 2;
    if (onFollow && !atEnd && followNow.current && scrollTop < view.top) onFollow(false);
  };
  const onKeyDown = (event) => {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
    if (event.key in steps && count) {
      event.preventDefault();
      if (onFollow) onFollow(false);
      const from = selected < 0 ? (event.key === "ArrowUp" ? count : -1) : selected;
      onSelect(Math.min(count - 1, Math.max(0, from + steps[event.key])));
    } else if (event.key === "Escape") {
      onSelect(-1);
    }
  };
  return html`<div
    class="windowed"
    ref=${box}
    role="grid"
    aria-label=${label}
    aria-rowcount=${count + 1}
    aria-activedescendant=${selected >= first && selected < last ? `${idPrefix}-${selected}` : null}
    tabindex="0"
    onScroll=${onScroll}
    onKeyDown=${onKeyDown}
  >
    ${head}
    <div class="windowed-space" role="rowgroup" style=${{ height: `${count * rowHeight}px` }}>
      <div class="windowed-rows" role="presentation" style=${{ transform: `translateY(${first * rowHeight}px)` }}>${rows}</div>
    </div>
  </div>`;
}

function showRow(box, index, rowHeight) {
  const top = index * rowHeight;
  const headHeight = box.firstElementChild ? box.firstElementChild.offsetHeight : 0;
  const inSight = box.clientHeight - headHeight;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + rowHeight > box.scrollTop + inSight) box.scrollTop = top + rowHeight - inSight;
}
