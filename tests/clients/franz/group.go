package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 6
	records    = 9000
	members    = 3
)

// tally is what the members of a group committed, and what each has now.
type tally struct {
	sync.Mutex
	committed map[int32][]int
	assigned  map[int]map[int32]bool
	count     int
	leftWith  int
	shared    chan struct{}
}

func (t *tally) change(member int, gained, lost []int32) {
	t.Lock()
	defer t.Unlock()
	for _, partition := range gained {
		t.assigned[member][partition] = true
	}
	for _, partition := range lost {
		delete(t.assigned[member], partition)
	}
	for _, has := range t.assigned {
		if len(has) != partitions/members {
			return
		}
	}
	select {
	case <-t.shared:
	default:
		close(t.shared)
	}
}

func (t *tally) add(batch []*kgo.Record) error {
	t.Lock()
	defer t.Unlock()
	for _, record := range batch {
		number, err := strconv.Atoi(string(record.Value))
		if err != nil {
			return err
		}
		t.committed[record.Partition] = append(t.committed[record.Partition], number)
		t.count++
	}
	return nil
}

func (t *tally) done() int {
	t.Lock()
	defer t.Unlock()
	return t.count
}

// group has three members share a topic and commit what they read; the first leaves in the middle.
func group(ctx context.Context, r run) (any, error) {
	all := &tally{
		committed: map[int32][]int{},
		assigned:  map[int]map[int32]bool{},
		shared:    make(chan struct{}),
	}
	for member := range members {
		all.assigned[member] = map[int32]bool{}
	}
	failures := make(chan error, members)
	for member := range members {
		go func() { failures <- r.read(ctx, member, all) }()
	}
	select {
	case <-all.shared:
	case <-ctx.Done():
		return nil, fmt.Errorf("the members do not share the topic: %v", all.assigned)
	}
	if err := r.fill(ctx, r.topic, records, partitions); err != nil {
		return nil, err
	}
	for range members {
		if err := <-failures; err != nil {
			return nil, err
		}
	}
	return map[string]any{"committed": all.committed, "leftWith": all.leftWith}, nil
}

// fill sends the numbers up to a count, by turns to all partitions.
func (r run) fill(ctx context.Context, topic string, count, partitions int) error {
	client, err := kgo.NewClient(r.options(kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		return err
	}
	defer client.Close()
	batch := make([]*kgo.Record, count)
	for number := range batch {
		batch[number] = &kgo.Record{
			Topic:     topic,
			Partition: int32(number % partitions),
			Value:     []byte(strconv.Itoa(number)),
		}
	}
	return client.ProduceSync(ctx, batch...).FirstErr()
}

func (r run) read(ctx context.Context, member int, all *tally) error {
	change := func(gained, lost map[string][]int32) {
		all.change(member, gained[r.topic], lost[r.topic])
	}
	client, err := kgo.NewClient(r.member(r.topic+"-"+r.protocol, r.topic,
		kgo.DisableAutoCommit(),
		// No partition goes between a poll and its commit.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, gained map[string][]int32) {
			change(gained, nil)
		}),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
			change(nil, lost)
		}),
	)...)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	for all.done() < records {
		if member == 0 && all.done() >= records/3 {
			all.leftWith = all.done()
			return nil
		}
		if err := poll(ctx, client, all); err != nil {
			return err
		}
		client.AllowRebalance()
	}
	return ctx.Err()
}

func poll(ctx context.Context, client *kgo.Client, all *tally) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%d of %d were read: %w", all.done(), records, ctx.Err())
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	fetches := client.PollRecords(short, 100)
	for _, failure := range fetches.Errors() {
		if failure.Err != context.DeadlineExceeded {
			return failure.Err
		}
	}
	batch := fetches.Records()
	if len(batch) == 0 {
		return nil
	}
	if err := client.CommitRecords(ctx, batch...); err != nil {
		return err
	}
	return all.add(batch)
}
