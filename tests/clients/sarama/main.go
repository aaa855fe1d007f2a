// Reads partition 0 of a topic from its start by sarama, under a client id, up to a number of
// records, and prints their offsets.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

const idle = 30 * time.Second

func main() {
	if err := read(); err != nil {
		fmt.Fprintln(os.Stderr, "sarama:", err)
		os.Exit(1)
	}
}

func read() error {
	if len(os.Args) != 5 {
		return fmt.Errorf("usage: sarama BOOTSTRAP TOPIC CLIENT_ID RECORDS")
	}
	records, err := strconv.Atoi(os.Args[4])
	if err != nil {
		return err
	}
	config := sarama.NewConfig()
	config.ClientID = os.Args[3]
	config.Version = sarama.MaxVersion
	config.Consumer.Return.Errors = true
	consumer, err := sarama.NewConsumer([]string{os.Args[1]}, config)
	if err != nil {
		return err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(os.Args[2], 0, sarama.OffsetOldest)
	if err != nil {
		return err
	}
	defer partition.Close()
	offsets := []int64{}
	for len(offsets) < records {
		select {
		case message := <-partition.Messages():
			offsets = append(offsets, message.Offset)
		case err := <-partition.Errors():
			return err
		case <-time.After(idle):
			return fmt.Errorf("no record for %v behind %v", idle, offsets)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(offsets)
}
