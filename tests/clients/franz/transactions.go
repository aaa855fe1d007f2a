package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const moved = 200

// transactions copies a topic with a GroupTransactSession, each third transaction given up first;
// then a second session of the same id fences it.
func transactions(ctx context.Context, r run) (any, error) {
	source, target := r.topic+"-from", r.topic+"-to"
	if err := r.fill(ctx, source, moved, 1); err != nil {
		return nil, err
	}
	first, err := r.session(source)
	if err != nil {
		return nil, err
	}
	defer first.CloseAllowingRebalance()
	aborted, err := move(ctx, first, target)
	if err != nil {
		return nil, err
	}
	fenced, err := r.fence(ctx, first, source, target)
	if err != nil {
		return nil, err
	}
	committed, err := r.readToEnd(ctx, target, kgo.ReadCommitted())
	if err != nil {
		return nil, err
	}
	everything, err := r.readToEnd(ctx, target, kgo.ReadUncommitted())
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"aborted":    aborted,
		"fenced":     fenced,
		"committed":  committed,
		"everything": len(everything),
	}, nil
}

func (r run) session(source string) (*kgo.GroupTransactSession, error) {
	return kgo.NewGroupTransactSession(r.member(r.topic+"-movers", source,
		kgo.TransactionalID(r.topic+"-mover"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)...)
}

// move tells how many records were in transactions that were given up.
func move(ctx context.Context, session *kgo.GroupTransactSession, target string) (int, error) {
	aborted, done := 0, 0
	for attempt := 0; done < moved; {
		if ctx.Err() != nil {
			return 0, fmt.Errorf("%d of %d were moved: %w", done, moved, ctx.Err())
		}
		batch := session.PollRecords(ctx, 20).Records()
		if len(batch) == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return 0, err
		}
		for _, record := range batch {
			value := append([]byte("done "), record.Value...)
			if err := session.ProduceSync(ctx, &kgo.Record{Topic: target, Value: value}).FirstErr(); err != nil {
				return 0, err
			}
		}
		attempt++
		committed, err := session.End(ctx, kgo.TransactionEndTry(attempt%3 != 0))
		if err != nil {
			return 0, err
		}
		if committed {
			done += len(batch)
		} else {
			aborted += len(batch)
		}
	}
	return aborted, nil
}

func (r run) fence(ctx context.Context, first *kgo.GroupTransactSession, source, target string) (string, error) {
	if err := first.Begin(); err != nil {
		return "", err
	}
	lost := &kgo.Record{Topic: target, Value: []byte("lost")}
	if err := first.ProduceSync(ctx, lost).FirstErr(); err != nil {
		return "", err
	}
	second, err := r.session(source)
	if err != nil {
		return "", err
	}
	defer second.CloseAllowingRebalance()
	if err := second.Begin(); err != nil {
		return "", err
	}
	kept := &kgo.Record{Topic: target, Value: []byte("kept")}
	if err := second.ProduceSync(ctx, kept).FirstErr(); err != nil {
		return "", err
	}
	if committed, err := second.End(ctx, kgo.TryCommit); err != nil || !committed {
		return "", fmt.Errorf("the second transaction: committed %v, %w", committed, err)
	}
	committed, err := first.End(ctx, kgo.TryCommit)
	if committed || err == nil {
		return fmt.Sprintf("committed: %v", committed), nil
	}
	return err.Error(), nil
}

// readToEnd reads a partition up to the record of the transaction that came last.
func (r run) readToEnd(ctx context.Context, topic string, isolation kgo.IsolationLevel) ([]string, error) {
	client, err := r.reader(topic, isolation)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	found := []string{}
	for len(found) == 0 || found[len(found)-1] != "kept" {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			found = append(found, string(record.Value))
		}
	}
	return found, nil
}

// follow prints each record that a read_committed reader sees, as it comes, and "idle" once a
// second has brought none, until standard input ends.
func follow(ctx context.Context, r run) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		cancel()
	}()
	client, err := r.reader(r.topic, kgo.ReadCommitted())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	lines := json.NewEncoder(os.Stdout)
	for ctx.Err() == nil {
		short, stop := context.WithTimeout(ctx, time.Second)
		batch := client.PollFetches(short).Records()
		stop()
		if len(batch) == 0 && ctx.Err() == nil {
			lines.Encode("idle")
		}
		for _, record := range batch {
			lines.Encode(string(record.Value))
		}
	}
	return "ended", nil
}

func (r run) reader(topic string, isolation kgo.IsolationLevel) (*kgo.Client, error) {
	start := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}
	return kgo.NewClient(r.options(
		kgo.ConsumePartitions(start),
		kgo.FetchIsolationLevel(isolation),
		kgo.FetchMaxWait(250*time.Millisecond),
	)...)
}
