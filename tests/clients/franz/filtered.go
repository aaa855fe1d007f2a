package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// filtered reads partition 0 from its start, under the client id and up to the number of records
// that MORE says; what it prints are their offsets.
func filtered(ctx context.Context, here run) (any, error) {
	if len(os.Args) != 7 {
		return nil, fmt.Errorf("want MORE: CLIENT_ID RECORDS")
	}
	records, err := strconv.Atoi(os.Args[6])
	if err != nil {
		return nil, err
	}
	start := map[int32]kgo.Offset{0: kgo.NewOffset().AtStart()}
	client, err := kgo.NewClient(here.options(
		kgo.ClientID(os.Args[5]),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{here.topic: start}),
	)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	offsets := []int64{}
	for len(offsets) < records {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(record *kgo.Record) { offsets = append(offsets, record.Offset) })
	}
	return offsets, nil
}
