package main

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// waiters are connections that each park one fetch of one partition at a time.
type waiters struct {
	conns  []*conn
	topic  string
	offset int64
}

// parked measures waiting fetches over TCP: `count` connections, one fetch on each. All watch one
// partition. Figures are wall time for all of them divided by their number.
func parked(addr, topic string, count int) (result, error) {
	if err := createTopic(addr, topic); err != nil {
		return nil, err
	}
	w := &waiters{topic: topic}
	for range count {
		c, err := dial(addr)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		w.conns = append(w.conns, c)
	}
	writer, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	out := result{"conns": float64(count)}
	each := func(d time.Duration) float64 {
		return float64(d) / float64(time.Microsecond) / float64(count)
	}
	for range 5 { // the first rounds warm it up, the last one is told
		start := time.Now()
		if err := w.park(60000, writer); err != nil {
			return nil, err
		}
		out["park_us"] = each(time.Since(start))
		start = time.Now()
		if _, err := writer.call(produceRequest(topic, batch(1, 100))); err != nil {
			return nil, err
		}
		out["ack_ms"] = ms(time.Since(start))
		if err := w.answers(false); err != nil {
			return nil, err
		}
		w.offset++
		out["wake_us"] = each(time.Since(start))
	}
	const waitMillis = 300
	start := time.Now()
	if err := w.park(waitMillis, writer); err != nil {
		return nil, err
	}
	if err := w.answers(true); err != nil {
		return nil, err
	}
	out["expire_late_us"] = each(time.Since(start) - waitMillis*time.Millisecond)
	if err := w.park(60000, writer); err != nil {
		return nil, err
	}
	start = time.Now()
	for _, c := range w.conns {
		if err := c.Close(); err != nil {
			return nil, err
		}
	}
	if err := ping(writer); err != nil {
		return nil, err
	}
	out["cancel_us"] = each(time.Since(start))
	return out, nil
}

// park sends one fetch on each connection; a ping that follows them all shows that they wait.
func (w *waiters) park(maxWaitMillis int32, writer *conn) error {
	for _, c := range w.conns {
		if _, err := c.Write(c.frame(fetchRequest(w.topic, w.offset, maxWaitMillis))); err != nil {
			return err
		}
	}
	return ping(writer)
}

func (w *waiters) answers(empty bool) error {
	req := fetchRequest(w.topic, w.offset, 0)
	for _, c := range w.conns {
		resp, err := c.decode(req)
		if err != nil {
			return err
		}
		data := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if data.ErrorCode != 0 || (len(data.RecordBatches) == 0) != empty {
			return fmt.Errorf("parked fetch: error %d, %d bytes",
				data.ErrorCode, len(data.RecordBatches))
		}
	}
	return nil
}

func ping(c *conn) error {
	req := kmsg.NewPtrApiVersionsRequest()
	req.SetVersion(0)
	_, err := c.call(req)
	return err
}
