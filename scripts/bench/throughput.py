"""Throughput and latency: ours beside kfake and Apache Kafka, from one load generator, in one run.

    scripts/bench/throughput [--tls] [--rounds N] [--batches N] [--peers NAME,...]

Each round runs every scenario against every peer in turn, so that the machine's noise falls on
all alike; the table shows medians over the rounds, and ours as a ratio to each peer (above 1 is
better for us). The load generator is a Go program on raw sockets. With --tls all have the same
certificate and speak TLS 1.3; handshakes, and what a connection takes, are measured too, and `echo`
is a bare event loop with OpenSSL that answers with as many bytes: the limit of its rows.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics

from scripts.bench import peers

ROWS = (
    ("produce MB/s", "higher"),
    ("consume MB/s", "higher"),
    ("ping-pong p50 ms", "lower"),
    ("ping-pong p99 ms", "lower"),
    ("fetches/s, 1 in flight", "higher"),
    ("fetches/s, 64 in flight", "higher"),
    ("fetches/s, 8 connections", "higher"),
    ("CPU us a fetch, 1 in flight", "lower"),
    ("CPU us a fetch, 64 in flight", "lower"),
    ("CPU us a fetch, 8 connections", "lower"),
    ("idle memory MB", "lower"),
)


TLS_ROWS = (
    ("handshakes/s", "higher"),
    ("CPU us a handshake", "lower"),
    ("KB a connection", "lower"),
    ("CPU ms a MB produced", "lower"),
    ("CPU ms a MB consumed", "lower"),
)


def measure(peer: peers.Peer, tag: str, batches: int, count: int) -> dict[str, float]:
    """Every scenario once."""
    produced = peers.load(peer, "produce", topic=f"bulk-{tag}", batches=batches)
    consumed = peers.load(peer, "consume", topic=f"bulk-{tag}", batches=batches)
    ping = _ping_pong(peer, tag, count // 20)
    single = peers.load(peer, "fetches", topic=f"one-{tag}", count=count)
    deep = peers.load(peer, "fetches", topic=f"deep-{tag}", count=count * 4, depth=64)
    wide = peers.load(peer, "fetches", topic=f"wide-{tag}", count=count * 2, conns=8)
    encrypted = _encrypted(peer, produced, consumed, count) if peer.is_encrypted else {}
    return {
        **encrypted,
        "produce MB/s": produced["mb_per_s"],
        "consume MB/s": consumed["mb_per_s"],
        **ping,
        "fetches/s, 1 in flight": single["per_s"],
        "fetches/s, 64 in flight": deep["per_s"],
        "fetches/s, 8 connections": wide["per_s"],
        "CPU us a fetch, 1 in flight": single["cpu_s"] / single["requests"] * 1e6,
        "CPU us a fetch, 64 in flight": deep["cpu_s"] / deep["requests"] * 1e6,
        "CPU us a fetch, 8 connections": wide["cpu_s"] / wide["requests"] * 1e6,
    }


def _ping_pong(peer: peers.Peer, tag: str, rounds: int) -> dict[str, float]:
    """How long a record takes from one client to another, which takes a broker."""
    if peer.name == "echo":
        return {}
    ping = peers.load(peer, "pingpong", topic=f"ping-{tag}", count=rounds)
    return {f"ping-pong {part} ms": ping[f"{part}_ms"] for part in ("p50", "p99")}


def _encrypted(
    peer: peers.Peer, produced: dict[str, float], consumed: dict[str, float], count: int
) -> dict[str, float]:
    """What TLS costs."""
    shaken = peers.load(peer, "handshakes", count=count // 20, conns=500, pid=peer.pid)
    return {
        "handshakes/s": shaken["per_s"],
        "CPU us a handshake": shaken["cpu_s"] / (shaken["requests"] + 500) * 1e6,
        "KB a connection": shaken["bytes_each"] / 1e3,
        **{
            f"CPU ms a MB {what}": figures["cpu_s"] / figures["seconds"] / figures["mb_per_s"] * 1e3
            for what, figures in (("produced", produced), ("consumed", consumed))
        },
    }


def run(
    names: list[str], rounds: int, batches: int, count: int, *, tls: bool = False
) -> dict[str, dict[str, float]]:
    """Medians by peer and row."""
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    idle: dict[str, float] = {}
    fresh: dict[str, float] = {}
    with contextlib.ExitStack() as stack:
        running = []
        for name in names:
            start = peers.run_encrypted_peer if tls else peers.run_peer
            peer = stack.enter_context(start(name))
            running.append(peer)
            idle[name] = peer.resident_mb()
        for peer in running:
            peers.note(f"warming {peer.name}")
            warm = measure(peer, "warm", max(20, batches // 10), count // 4)
            if tls:  # memory that a first connection took serves the next ones
                fresh[peer.name] = warm["KB a connection"]
        for number in range(rounds):
            for peer in running:
                peers.note(f"round {number + 1} of {rounds}: {peer.name}")
                samples[peer.name].append(measure(peer, str(number), batches, count))
    medians = {}
    for name in names:
        medians[name] = {
            row: statistics.median(sample[row] for sample in samples[name])
            for row in samples[name][0]
        }
        medians[name]["idle memory MB"] = idle[name]
        if tls:
            medians[name]["KB a connection"] = fresh[name]
    return medians


def show(names: list[str], medians: dict[str, dict[str, float]]) -> None:
    """The table."""
    others = [name for name in names if name != "mockbroker"]
    header = f"{'':32}" + "".join(f"{name:>13}" for name in names)
    print(header + "".join(f"{'vs ' + name:>11}" for name in others))
    for row, better in (*ROWS, *TLS_ROWS):
        if not any(row in found for found in medians.values()):
            continue
        figures = [medians[name].get(row) for name in names]
        line = f"{row:32}" + "".join(
            f"{'–' if each is None else f'{each:,.2f}':>13}" for each in figures
        )
        for name in others if "mockbroker" in names else []:
            ours, theirs = medians["mockbroker"][row], medians[name].get(row)
            ratio = (
                None if theirs is None else ours / theirs if better == "higher" else theirs / ours
            )
            line += f"{'–' if ratio is None else f'{ratio:.2f}x':>11}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--batches", type=int, default=500, help="1 MB batches (default 500)")
    parser.add_argument("--count", type=int, default=20000, help="small requests (default 20000)")
    parser.add_argument(
        "--peers", default=",".join(("echo", *peers.PEERS)), help="which, with commas"
    )
    parser.add_argument("--tls", action="store_true", help="over TLS, with what that costs")
    options = parser.parse_args()
    peers.build_go()
    wanted = options.peers.split(",")
    names = [*(["echo"] if options.tls else []), *peers.available()]
    names = [name for name in names if name in wanted]
    show(names, run(names, options.rounds, options.batches, options.count, tls=options.tls))


if __name__ == "__main__":
    main()
