// Command franz runs one scenario of franz-go against a broker and prints what it found as JSON.
//
//	franz SCENARIO BOOTSTRAP|@CONFIG.json TOPIC PROTOCOL [MORE...]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// run is where a scenario is played, and in which group protocol.
type run struct {
	bootstrap string
	topic     string
	protocol  string
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: franz SCENARIO BOOTSTRAP TOPIC PROTOCOL [MORE...]")
		os.Exit(2)
	}
	scenarios := map[string]func(context.Context, run) (any, error){
		"group":        group,
		"transactions": transactions,
		"follow":       follow,
		"filtered":     filtered,
	}
	scenario, known := scenarios[os.Args[1]]
	if !known && os.Args[1] != "failover" {
		fmt.Fprintln(os.Stderr, "franz: no scenario", os.Args[1])
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	here := run{os.Args[2], os.Args[3], os.Args[4]}
	if os.Args[1] == "failover" {
		if err := failover(ctx, here, os.Args[5:]); err != nil {
			fmt.Fprintln(os.Stderr, "franz:", err)
			os.Exit(1)
		}
		return
	}
	found, err := scenario(ctx, here)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "franz:", err)
		os.Exit(1)
	}
}

// options are those of any client of the run, and more.
func (r run) options(more ...kgo.Opt) []kgo.Opt {
	if file, named := strings.CutPrefix(r.bootstrap, "@"); named {
		given, err := connect(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "franz:", err)
			os.Exit(1)
		}
		return append(given, more...)
	}
	seeds := kgo.SeedBrokers(strings.Split(r.bootstrap, ",")...)
	return append([]kgo.Opt{seeds}, more...)
}

// member are the options of a consumer in a group of the run's protocol.
func (r run) member(group, topic string, more ...kgo.Opt) []kgo.Opt {
	options := r.options(
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(300*time.Millisecond),
		kgo.Balancers(kgo.RangeBalancer()),
		kgo.FetchMaxWait(250*time.Millisecond),
	)
	if r.protocol == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	}
	return append(options, more...)
}
