"""A rate over a sliding window of samples, as Kafka's quotas measure it.

`quotas` has one a quota that is used. Follows SampledStat and Rate: a sample is begun when
something is recorded after the last one's time was over, and the window always counts as all but
one of its samples long, so that a first burst is not taken for a rate.

Times are in ms on one clock that never goes back; rates are per second.
"""

from __future__ import annotations


class _Sample:
    __slots__ = ("last_ms", "start_ms", "value")

    def __init__(self, now_ms: float) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: float) -> None:
        self.start_ms = self.last_ms = now_ms
        self.value = 0.0


class Rate:
    """Values recorded over `samples` windows of `window_ms` each."""

    __slots__ = ("_current", "_kept", "_samples", "_window_ms")

    def __init__(self, samples: int, window_ms: float) -> None:
        self._samples = samples
        self._window_ms = window_ms
        self._kept: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: float) -> None:
        """Add a value; a negative one takes back what was recorded before."""
        if not self._kept:
            self._kept.append(_Sample(now_ms))
        sample = self._kept[self._current]
        if now_ms - sample.start_ms >= self._window_ms:
            sample = self._advance(now_ms)
        sample.value += value
        sample.last_ms = now_ms

    def measure(self, now_ms: float) -> float:
        """The rate now, per second."""
        self._purge(now_ms)
        total = sum(sample.value for sample in self._kept)
        return total / (self.window_ms(now_ms) / 1000)

    def window_ms(self, now_ms: float) -> float:
        """How long the window is that the rate is taken over."""
        self._purge(now_ms)
        # Rate.windowSize: what has not passed yet of all windows but one counts as passed.
        oldest = min((sample.start_ms for sample in self._kept), default=now_ms)
        elapsed_ms = now_ms - oldest
        missing = self._samples - 1 - int(elapsed_ms / self._window_ms)
        if missing > 0:
            elapsed_ms += missing * self._window_ms
        return max(elapsed_ms, 1.0)

    def _advance(self, now_ms: float) -> _Sample:
        # SampledStat.advance. One sample more than asked for: the oldest may overlap the window's
        # begin.
        self._current = (self._current + 1) % (self._samples + 1)
        if self._current >= len(self._kept):
            self._kept.append(_Sample(now_ms))
        else:
            self._kept[self._current].reset(now_ms)
        return self._kept[self._current]

    def _purge(self, now_ms: float) -> None:
        # SampledStat.purgeObsoleteSamples: they stay in the ring, with nothing in them.
        expired_ms = self._samples * self._window_ms
        for sample in self._kept:
            if now_ms - sample.last_ms >= expired_ms:
                sample.reset(now_ms)
