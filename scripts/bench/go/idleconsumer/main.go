// Command idleconsumer assigns itself every partition of a topic with franz-go and polls until it
// is ended, so that what an idle consumer sends can be counted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	addr := flag.String("addr", "", "HOST:PORT of the broker")
	topic := flag.String("topic", "", "topic")
	partitions := flag.Int("partitions", 0, "partitions of the topic")
	maxWait := flag.Duration("max-wait", 500*time.Millisecond, "how long a fetch may wait")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	assigned := make(map[int32]kgo.Offset, *partitions)
	for partition := range int32(*partitions) {
		assigned[partition] = kgo.NewOffset().At(0)
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(*addr),
		kgo.ClientID("franz-go"),
		kgo.FetchMaxWait(*maxWait),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{*topic: assigned}),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, "idleconsumer:", err)
		os.Exit(1)
	}
	defer client.Close()
	for ctx.Err() == nil {
		client.PollFetches(ctx)
	}
}
