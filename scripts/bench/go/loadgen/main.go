// Command loadgen measures one broker over raw sockets and prints one JSON object.
//
// It sends prepared frames and looks only at what it must, so that it is never the slower side.
// Scenarios: produce, consume, pingpong, fetches, requests, sessions, handshakes, parked. Loopback only, bounded in count and time.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	recordBytes     = 1024
	recordsPerBatch = 1000
	inFlight        = 5
	// How large answers of brokers are: what is no broker is asked for as much.
	producedBytes = 50
	fetchedBytes  = 230
	versionsBytes = 500
)

type result map[string]float64

func main() {
	addr := flag.String("addr", "", "loopback HOST:PORT of the broker")
	scenario := flag.String("scenario", "", "produce, consume, pingpong, fetches, requests, sessions, handshakes or parked")
	topic := flag.String("topic", "bench", "topic, made if the scenario writes to it")
	batches := flag.Int("batches", 500, "batches of 1,000 records of 1 KiB to produce or consume")
	count := flag.Int("count", 20000, "requests, or ping-pong rounds")
	depth := flag.Int("depth", 1, "requests in flight on each connection")
	conns := flag.Int("conns", 1, "connections")
	partitions := flag.Int("partitions", 100, "partitions of the fetch session, or of each request")
	api := flag.String("api", "fetch", "of requests: fetch (that finds nothing), read, produce or metadata")
	size := flag.Int("size", 100, "bytes of a record of requests")
	flag.BoolVar(&echo, "echo", false, "what is there is no broker: it sends as many bytes as it is asked for, or requests back")
	changes := flag.Int("changes", 500, "polls that follow an append")
	pid := flag.Int("pid", 0, "process id of the broker, to read its memory")
	flag.BoolVar(&overTLS, "tls", false, "connections are encrypted")
	flag.Parse()
	host, _, err := net.SplitHostPort(*addr)
	if err != nil || !(net.ParseIP(host) != nil && net.ParseIP(host).IsLoopback()) {
		fail(fmt.Errorf("-addr %q is not a loopback HOST:PORT", *addr))
	}
	var out result
	switch *scenario {
	case "produce":
		out, err = produce(*addr, *topic, *batches)
	case "consume":
		out, err = consume(*addr, *topic, *batches)
	case "pingpong":
		out, err = pingpong(*addr, *topic, *count)
	case "fetches":
		out, err = fetches(*addr, *topic, *count, *depth, *conns)
	case "requests":
		l := &load{*addr, *topic, *api, *count, *depth, *conns, *partitions, *size}
		out, err = l.run()
	case "sessions":
		out, err = sessions(*addr, *topic, *partitions, *count, *changes, *pid)
	case "handshakes":
		out, err = handshakes(*addr, *count, *conns, *pid)
	case "parked":
		out, err = parked(*addr, *topic, *conns)
	default:
		err = fmt.Errorf("-scenario %q is unknown", *scenario)
	}
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "loadgen:", err)
	os.Exit(1)
}

// produce writes batches on one connection with five requests in flight.
func produce(addr, topic string, batches int) (result, error) {
	if err := createTopic(addr, topic); err != nil {
		return nil, err
	}
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	req := produceRequest(topic, batch(recordsPerBatch, recordBytes))
	frame := c.frame(req)
	if echo {
		frame = c.asking(producedBytes, req)
	}
	slots := make(chan struct{}, inFlight)
	sent := make(chan error, 1)
	start := time.Now()
	go func() {
		for range batches {
			slots <- struct{}{}
			if _, err := c.Write(frame); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for range batches {
		if err := produced(c, req); err != nil {
			return nil, err
		}
		<-slots
	}
	seconds := time.Since(start).Seconds()
	mb := float64(batches) * recordsPerBatch * recordBytes / 1e6
	return result{"mb_per_s": mb / seconds, "seconds": seconds}, <-sent
}

// produced reads the answer to a produce request, which must be good.
func produced(c *conn, req kmsg.Request) error {
	if echo {
		_, err := c.read()
		return err
	}
	resp, err := c.decode(req)
	if err != nil {
		return err
	}
	if code := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
		return fmt.Errorf("produce: error %d", code)
	}
	return nil
}

// consume reads what produce wrote, one fetch after the other.
func consume(addr, topic string, batches int) (result, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var offset, bytes int64
	want := int64(batches) * recordsPerBatch
	frame := c.asking(len(batch(recordsPerBatch, recordBytes)), fetchRequest(topic, 0, 500))
	start := time.Now()
	for offset < want {
		if echo {
			if err := c.exchange(frame); err != nil {
				return nil, err
			}
			offset += recordsPerBatch
			bytes += recordsPerBatch * recordBytes
			continue
		}
		resp, err := c.call(fetchRequest(topic, offset, 500))
		if err != nil {
			return nil, err
		}
		part := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if part.ErrorCode != 0 {
			return nil, fmt.Errorf("fetch at %d: error %d", offset, part.ErrorCode)
		}
		next := nextOffset(part.RecordBatches, offset)
		if next == offset {
			return nil, fmt.Errorf("fetch at %d: no progress", offset)
		}
		bytes += (next - offset) * recordBytes
		offset = next
	}
	seconds := time.Since(start).Seconds()
	return result{"mb_per_s": float64(bytes) / 1e6 / seconds, "seconds": seconds}, nil
}

func nextOffset(records []byte, offset int64) int64 {
	for len(records) >= 61 {
		length := int(be32(records[8:])) + 12
		if length > len(records) {
			break
		}
		offset = int64(be64(records)) + int64(be32(records[23:])) + 1
		records = records[length:]
	}
	return offset
}

func be32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
func be64(b []byte) uint64 { return uint64(be32(b))<<32 | uint64(be32(b[4:])) }

// pingpong measures from the send of a record to its arrival in a parked fetch.
func pingpong(addr, topic string, rounds int) (result, error) {
	if err := createTopic(addr, topic); err != nil {
		return nil, err
	}
	writer, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	reader, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	req := produceRequest(topic, batch(1, 100))
	times := make([]time.Duration, 0, rounds)
	for offset := range rounds {
		fetch := fetchRequest(topic, int64(offset), 10000)
		if _, err := reader.Write(reader.frame(fetch)); err != nil {
			return nil, err
		}
		time.Sleep(100 * time.Microsecond) // let the fetch park
		start := time.Now()
		if _, err := writer.Write(writer.frame(req)); err != nil {
			return nil, err
		}
		if _, err := writer.decode(req); err != nil {
			return nil, err
		}
		if err := awaitRecords(reader, fetch); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	ms := func(q float64) float64 {
		return float64(times[int(q*float64(len(times)-1))]) / float64(time.Millisecond)
	}
	return result{"p50_ms": ms(0.50), "p99_ms": ms(0.99)}, nil
}

// awaitRecords reads the answer of a fetch that was sent, and asks again while it is empty: a fetch
// between high watermark and log end is answered at once, with nothing.
func awaitRecords(c *conn, fetch *kmsg.FetchRequest) error {
	for range 1000 {
		resp, err := c.decode(fetch)
		if err != nil {
			return err
		}
		if len(resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches) > 0 {
			return nil
		}
		if _, err := c.Write(c.frame(fetch)); err != nil {
			return err
		}
	}
	return errors.New("pingpong: no record arrives")
}

// fetches sends small fetches of one record: `depth` in flight on each of `conns` connections.
func fetches(addr, topic string, count, depth, conns int) (result, error) {
	if err := createTopic(addr, topic); err != nil {
		return nil, err
	}
	if !echo {
		if err := seed(addr, topic); err != nil {
			return nil, err
		}
	}
	each := count / conns
	var group sync.WaitGroup
	failures := make(chan error, conns)
	start := time.Now()
	for range conns {
		group.Add(1)
		go func() {
			defer group.Done()
			failures <- pipeline(addr, topic, each, depth)
		}()
	}
	group.Wait()
	seconds := time.Since(start).Seconds()
	for range conns {
		if err := <-failures; err != nil {
			return nil, err
		}
	}
	return result{"per_s": float64(each*conns) / seconds, "requests": float64(each * conns)}, nil
}

func seed(addr, topic string) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.call(produceRequest(topic, batch(1, 100)))
	return err
}

func pipeline(addr, topic string, count, depth int) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	frame := c.asking(fetchedBytes, fetchRequest(topic, 0, 0))
	burst := make([]byte, 0, len(frame)*depth)
	for range depth {
		burst = append(burst, frame...)
	}
	size := 0
	for sent := 0; sent < count; sent += depth {
		if _, err := c.Write(burst); err != nil {
			return err
		}
		for range depth {
			body, err := c.read()
			if err != nil {
				return err
			}
			if size == 0 {
				size = len(body)
			}
			if len(body) != size || size < 100 {
				return fmt.Errorf("fetches: an answer of %d bytes after one of %d", len(body), size)
			}
		}
	}
	return nil
}
