package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// load is one kind of request, sent again and again as the same bytes.
type load struct {
	addr, topic, api        string
	count, depth            int
	conns, partitions, size int
}

// run sends `count` requests over `conns` connections with `depth` in flight on each. An echo has no
// topics, and answers with the request itself.
func (l *load) run() (result, error) {
	if !echo {
		if err := l.prepare(); err != nil {
			return nil, err
		}
	}
	each := max(l.depth, l.count/l.conns)
	var group sync.WaitGroup
	failures := make(chan error, l.conns)
	start := time.Now()
	for range l.conns {
		group.Add(1)
		go func() {
			defer group.Done()
			failures <- l.send(each)
		}()
	}
	group.Wait()
	seconds := time.Since(start).Seconds()
	for range l.conns {
		if err := <-failures; err != nil {
			return nil, err
		}
	}
	requests := float64((each + l.depth - 1) / l.depth * l.depth * l.conns)
	return result{"per_s": requests / seconds, "requests": requests}, nil
}

func (l *load) prepare() error {
	c, err := dial(l.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := ensureTopic(c, l.topic, l.partitions); err != nil {
		return err
	}
	if err := l.awaitLeaders(c); err != nil {
		return err
	}
	resp, err := c.call(l.produce())
	if err != nil {
		return err
	}
	for _, p := range resp.(*kmsg.ProduceResponse).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			return fmt.Errorf("produce: error %d", p.ErrorCode)
		}
	}
	return nil
}

// awaitLeaders asks until all partitions are served: Kafka tells of leaders before they know of it.
func (l *load) awaitLeaders(c *conn) error {
	for range 600 {
		resp, err := c.call(l.fetch(0))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(resp.(*kmsg.FetchResponse).Topics[0].Partitions, failed) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s: not all partitions are served", l.topic)
}

func failed(p kmsg.FetchResponseTopicPartition) bool { return p.ErrorCode != 0 }

func (l *load) send(count int) error {
	c, err := dial(l.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	req, err := l.request()
	if err != nil {
		return err
	}
	frame := c.frame(req)
	burst := make([]byte, 0, len(frame)*l.depth)
	for range l.depth {
		burst = append(burst, frame...)
	}
	for sent := 0; sent < count; sent += l.depth {
		if _, err := c.Write(burst); err != nil {
			return err
		}
		for range l.depth {
			if _, err := c.read(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *load) request() (kmsg.Request, error) {
	switch l.api {
	case "fetch":
		return l.fetch(1), nil
	case "read":
		return l.fetch(0), nil
	case "produce":
		return l.produce(), nil
	case "metadata":
		req := kmsg.NewPtrMetadataRequest()
		req.SetVersion(12)
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &l.topic
		req.Topics = append(req.Topics, t)
		return req, nil
	}
	return nil, fmt.Errorf("-api %q is none of fetch, read, produce and metadata", l.api)
}

// fetch asks for all partitions from an offset; each has one record when it is first asked.
func (l *load) fetch(offset int64) *kmsg.FetchRequest {
	req := fetchRequest(l.topic, offset, 0)
	first := req.Topics[0].Partitions[0]
	for index := 1; index < l.partitions; index++ {
		first.Partition = int32(index)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, first)
	}
	return req
}

func (l *load) produce() *kmsg.ProduceRequest {
	req := produceRequest(l.topic, batch(1, l.size))
	first := req.Topics[0].Partitions[0]
	for index := 1; index < l.partitions; index++ {
		first.Partition = int32(index)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, first)
	}
	return req
}
