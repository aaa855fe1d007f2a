package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// failing is a producer and the members of a group, as lines on standard input say: "produce",
// "pause", "join N", "leave N". What happens is a line of JSON that begins with its kind; see
// tests/clients/failover/program.py, which reads them.
type failing struct {
	run
	group   string
	rack    string
	keys    int
	window  chan struct{}
	rest    time.Duration
	stdout  sync.Mutex
	client  *kgo.Client
	sent    int
	paused  chan struct{}
	members map[int]chan struct{}
}

// failover ends with its standard input. Arguments: GROUP KEYS WINDOW REST_MS RACK.
func failover(ctx context.Context, r run, args []string) error {
	if len(args) != 5 {
		return errors.New("wanted are GROUP KEYS WINDOW REST_MS RACK")
	}
	sizes := [3]int{}
	for index := range sizes {
		size, err := strconv.Atoi(args[index+1])
		if err != nil {
			return err
		}
		sizes[index] = size
	}
	f := &failing{
		run: r, group: args[0], rack: args[4], keys: sizes[0],
		window: make(chan struct{}, sizes[1]), rest: time.Duration(sizes[2]) * time.Millisecond,
		members: map[int]chan struct{}{},
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := f.obey(ctx, strings.Fields(lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (f *failing) obey(ctx context.Context, words []string) error {
	member := 0
	if len(words) == 2 {
		number, err := strconv.Atoi(words[1])
		if err != nil {
			return err
		}
		member = number
	}
	switch words[0] {
	case "produce":
		return f.produce(ctx)
	case "pause":
		close(f.paused)
	case "join":
		left := make(chan struct{})
		f.members[member] = left
		go f.attend(ctx, member, left)
	case "leave":
		close(f.members[member])
	default:
		return fmt.Errorf("no command %q", words[0])
	}
	return nil
}

func (f *failing) tell(words ...any) {
	line, err := json.Marshal(words)
	if err != nil {
		panic(err)
	}
	f.stdout.Lock()
	defer f.stdout.Unlock()
	fmt.Println(string(line))
}

func (f *failing) produce(ctx context.Context) error {
	if f.client == nil {
		client, err := kgo.NewClient(f.options(
			kgo.ProducerLinger(2*time.Millisecond),
			kgo.MetadataMinAge(100*time.Millisecond),
		)...)
		if err != nil {
			return err
		}
		f.client = client
	}
	f.paused = make(chan struct{})
	go f.send(ctx, f.paused)
	return nil
}

func (f *failing) send(ctx context.Context, paused chan struct{}) {
	ticks := time.NewTicker(f.rest)
	defer ticks.Stop()
	for {
		select {
		case <-paused:
			if err := f.client.Flush(ctx); err != nil {
				f.tell("failed", err.Error())
			}
			f.tell("paused")
			return
		case <-ticks.C:
			f.window <- struct{}{}
			f.sendOne(ctx, f.sent)
			f.sent++
		}
	}
}

func (f *failing) sendOne(ctx context.Context, number int) {
	record := &kgo.Record{
		Topic: f.topic,
		Key:   []byte(fmt.Sprintf("key-%d", number%f.keys)),
		Value: []byte(strconv.Itoa(number)),
	}
	f.client.Produce(ctx, record, func(record *kgo.Record, err error) {
		if err != nil {
			f.tell("refused", number, err.Error())
		} else {
			f.tell("acknowledged", number, record.Partition, record.Offset)
		}
		<-f.window
	})
}

// attend is a member of the group until it is to leave.
func (f *failing) attend(ctx context.Context, member int, left chan struct{}) {
	client, err := kgo.NewClient(f.member(f.group, f.topic,
		kgo.ClientID(fmt.Sprintf("member-%d", member)),
		kgo.DisableAutoCommit(),
		// No partition goes between a poll and its commit.
		kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxWait(100*time.Millisecond),
		kgo.MetadataMinAge(100*time.Millisecond),
		kgo.Rack(f.rack),
	)...)
	if err != nil {
		f.tell("failed", err.Error())
		return
	}
	for {
		select {
		case <-left:
			client.CloseAllowingRebalance()
			f.tell("left", member)
			return
		default:
			f.take(ctx, client, member)
			client.AllowRebalance()
		}
	}
}

// take polls, tells what came, and commits it.
func (f *failing) take(ctx context.Context, client *kgo.Client, member int) {
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	fetches := client.PollRecords(short, 200)
	for _, failure := range fetches.Errors() {
		// It tells of these and goes on by itself.
		var lost *kgo.ErrDataLoss
		var session *kgo.ErrGroupSession
		if !errors.Is(failure.Err, context.DeadlineExceeded) &&
			!errors.As(failure.Err, &lost) && !errors.As(failure.Err, &session) {
			f.tell("failed", failure.Err.Error())
		}
	}
	batch := fetches.Records()
	if len(batch) == 0 {
		return
	}
	ends := map[string]int64{}
	for _, record := range batch {
		number, err := strconv.Atoi(string(record.Value))
		if err != nil {
			f.tell("failed", err.Error())
		}
		f.tell("read", member, record.Partition, record.Offset, number)
		ends[strconv.Itoa(int(record.Partition))] = record.Offset + 1
	}
	f.tell("committing", ends)
	// A rebalance may have taken the partitions away, or the coordinator is lost.
	if err := client.CommitRecords(ctx, batch...); err == nil {
		f.tell("committed", ends)
	}
}
