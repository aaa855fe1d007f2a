package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	partitionsPerTopic = 10000
	stepPartitions     = 5000
	sessionVersion     = 17 // by topic id; the newest that all peers serve
)

// session is one open fetch session as its client keeps it.
type session struct {
	conn     *conn
	id       int32
	epoch    int32
	topicIDs [][16]byte
	topics   []string
	each     int   // partitions of each topic
	pid      int   // of the broker
	advanced *spot // the partition that the next poll names, served by the last one
}

// spot is one partition of the session and where its reader stands.
type spot struct {
	topic, partition int
	offset           int64
}

// sessions opens a session over all partitions, then polls it: first idle, then after one append
// to a random partition each. The topics are made before, which is not measured.
func sessions(addr, prefix string, partitions, idle, changes, pid int) (result, error) {
	s := &session{each: min(partitions, partitionsPerTopic), pid: pid}
	if err := s.prepare(addr, prefix, partitions); err != nil {
		return nil, err
	}
	defer s.conn.Close()
	out := result{"partitions": float64(partitions)}
	ends, err := s.logEnds()
	if err != nil {
		return nil, err
	}
	before := residentBytes(pid)
	if err := s.open(ends, out); err != nil {
		return nil, err
	}
	if err := s.pollIdle(idle, out); err != nil {
		return nil, err
	}
	out["first_bytes_each"] = (residentBytes(pid) - before) / float64(partitions)
	if err := s.weigh(addr, ends, out); err != nil {
		return nil, err
	}
	writer, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	if err := s.pollChanged(writer, changes, out); err != nil {
		return nil, err
	}
	return out, s.close()
}

func (s *session) prepare(addr, prefix string, partitions int) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	s.conn = c
	for number := range (partitions + s.each - 1) / s.each {
		topic := fmt.Sprintf("%s-%d-%d", prefix, partitions, number)
		id, err := ensureTopic(c, topic, s.each)
		if err != nil {
			return err
		}
		s.topics = append(s.topics, topic)
		s.topicIDs = append(s.topicIDs, id)
	}
	return nil
}

// ensureTopic makes the topic if it is not there and waits for the leaders of its partitions.
func ensureTopic(c *conn, topic string, partitions int) ([16]byte, error) {
	if err := makeTopic(c, topic, partitions); err != nil {
		return [16]byte{}, err
	}
	for range 600 {
		meta := kmsg.NewPtrMetadataRequest()
		meta.SetVersion(12)
		asked := kmsg.NewMetadataRequestTopic()
		asked.Topic = &topic
		meta.Topics = append(meta.Topics, asked)
		resp, err := c.call(meta)
		if err != nil {
			return [16]byte{}, err
		}
		topics := resp.(*kmsg.MetadataResponse).Topics
		if len(topics) == 1 && allLed(topics[0], partitions) {
			return topics[0].TopicID, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return [16]byte{}, fmt.Errorf("no leaders for %s", topic)
}

// makeTopic takes two steps for a large topic: a request may not make 10,000 partitions at once.
func makeTopic(c *conn, topic string, partitions int) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(5)
	req.TimeoutMillis = 120000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, int32(min(partitions, stepPartitions)), 1
	req.Topics = append(req.Topics, t)
	resp, err := c.call(req)
	if err != nil {
		return err
	}
	const topicAlreadyExists = 36
	code := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode
	if code == topicAlreadyExists {
		return nil
	}
	if code != 0 {
		return fmt.Errorf("create topic %s: error %d", topic, code)
	}
	if partitions <= stepPartitions {
		return nil
	}
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.SetVersion(1)
	grow.TimeoutMillis = 120000
	g := kmsg.NewCreatePartitionsRequestTopic()
	g.Topic, g.Count = topic, int32(partitions)
	grow.Topics = append(grow.Topics, g)
	resp, err = c.call(grow)
	if err != nil {
		return err
	}
	if code := resp.(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode; code != 0 {
		return fmt.Errorf("grow topic %s: error %d", topic, code)
	}
	return nil
}

func allLed(topic kmsg.MetadataResponseTopic, partitions int) bool {
	if topic.ErrorCode != 0 || len(topic.Partitions) != partitions {
		return false
	}
	for _, p := range topic.Partitions {
		if p.ErrorCode != 0 || p.Leader < 0 {
			return false
		}
	}
	return true
}

func (s *session) request() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(sessionVersion)
	req.MinBytes = 1
	req.MaxBytes = 50 << 20
	req.SessionID = s.id
	req.SessionEpoch = s.epoch
	return req
}

func wanted(partition int, offset int64) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition = int32(partition)
	p.FetchOffset = offset
	p.PartitionMaxBytes = 1 << 20
	p.CurrentLeaderEpoch = -1
	return p
}

// open sends the full fetch, at the log's end of every partition (repeated runs leave records).
func (s *session) open(ends [][]int64, out result) error {
	req := s.request()
	for number, id := range s.topicIDs {
		t := kmsg.NewFetchRequestTopic()
		t.TopicID = id
		for partition := range s.each {
			t.Partitions = append(t.Partitions, wanted(partition, ends[number][partition]))
		}
		req.Topics = append(req.Topics, t)
	}
	frame := s.conn.frame(req)
	start := time.Now()
	if _, err := s.conn.Write(frame); err != nil {
		return err
	}
	body, err := s.conn.read()
	if err != nil {
		return err
	}
	out["open_ms"] = ms(time.Since(start))
	out["open_request_bytes"] = float64(len(frame))
	out["open_response_bytes"] = float64(len(body))
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(sessionVersion)
	if err := resp.ReadFrom(body[1:]); err != nil {
		return err
	}
	told := 0
	for _, topic := range resp.Topics {
		told += len(topic.Partitions)
	}
	if resp.ErrorCode != 0 || resp.SessionID == 0 || told != s.each*len(s.topics) {
		return fmt.Errorf("open: error %d, session %d, %d partitions told",
			resp.ErrorCode, resp.SessionID, told)
	}
	s.id, s.epoch = resp.SessionID, 1
	return nil
}

// weigh opens more sessions like this one and tells by how much each makes the broker grow. The
// first one's growth says less: it holds what the open itself needed for a moment.
func (s *session) weigh(addr string, ends [][]int64, out result) error {
	const more = 3
	if s.pid == 0 {
		return nil
	}
	before := residentBytes(s.pid)
	var others []*session
	for range more {
		c, err := dial(addr)
		if err != nil {
			return err
		}
		defer c.Close()
		other := &session{conn: c, each: s.each, topics: s.topics, topicIDs: s.topicIDs}
		if err := other.open(ends, result{}); err != nil {
			return err
		}
		if err := other.pollIdle(2, result{}); err != nil {
			return err
		}
		others = append(others, other)
	}
	partitions := float64(more * s.each * len(s.topics))
	out["next_bytes_each"] = (residentBytes(s.pid) - before) / partitions
	for _, other := range others {
		if err := other.close(); err != nil {
			return err
		}
	}
	return nil
}

// logEnds asks for the end of every log; a broker may take a while until it leads all of them.
func (s *session) logEnds() ([][]int64, error) {
	ends := make([][]int64, len(s.topics))
	for number, topic := range s.topics {
		for attempt := 0; ends[number] == nil; attempt++ {
			found, err := s.logEndsOf(topic)
			if err != nil && attempt == 600 {
				return nil, err
			}
			if err != nil {
				time.Sleep(100 * time.Millisecond)
			}
			ends[number] = found
		}
	}
	return ends, nil
}

func (s *session) logEndsOf(topic string) ([]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.SetVersion(6)
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for partition := range s.each {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition = int32(partition)
		p.Timestamp = -1
		p.CurrentLeaderEpoch = -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	resp, err := s.conn.call(req)
	if err != nil {
		return nil, err
	}
	ends := make([]int64, s.each)
	for _, p := range resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			return nil, fmt.Errorf("log end of %s-%d: error %d", topic, p.Partition, p.ErrorCode)
		}
		ends[p.Partition] = p.Offset
	}
	return ends, nil
}

// poll sends one incremental fetch and returns its time and how many partitions it told.
func (s *session) poll() (time.Duration, *kmsg.FetchResponse, error) {
	req := s.request()
	if at := s.advanced; at != nil {
		t := kmsg.NewFetchRequestTopic()
		t.TopicID = s.topicIDs[at.topic]
		t.Partitions = append(t.Partitions, wanted(at.partition, at.offset))
		req.Topics = append(req.Topics, t)
		s.advanced = nil
	}
	frame := s.conn.frame(req)
	start := time.Now()
	if _, err := s.conn.Write(frame); err != nil {
		return 0, nil, err
	}
	body, err := s.conn.read()
	elapsed := time.Since(start)
	if err != nil {
		return 0, nil, err
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(sessionVersion)
	if err := resp.ReadFrom(body[1:]); err != nil {
		return 0, nil, err
	}
	if resp.ErrorCode != 0 || resp.SessionID != s.id {
		return 0, nil, fmt.Errorf("poll: error %d, session %d", resp.ErrorCode, resp.SessionID)
	}
	s.epoch++
	return elapsed, resp, nil
}

func (s *session) pollIdle(count int, out result) error {
	times := make([]time.Duration, 0, count)
	for range count {
		elapsed, resp, err := s.poll()
		if err != nil {
			return err
		}
		if len(resp.Topics) != 0 {
			return fmt.Errorf("idle poll: %d topics told", len(resp.Topics))
		}
		times = append(times, elapsed)
	}
	report(out, "idle", times)
	return nil
}

func (s *session) pollChanged(writer *conn, count int, out result) error {
	records := batch(1, 100)
	times := make([]time.Duration, 0, count)
	for range count {
		topic, partition := rand.IntN(len(s.topics)), rand.IntN(s.each)
		req := produceRequest(s.topics[topic], records)
		req.Topics[0].Partitions[0].Partition = int32(partition)
		resp, err := writer.call(req)
		if err != nil {
			return err
		}
		if code := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
			return fmt.Errorf("produce: error %d", code)
		}
		elapsed, answer, err := s.poll()
		if err != nil {
			return err
		}
		times = append(times, elapsed)
		if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
			return fmt.Errorf("poll after one append: %d topics told", len(answer.Topics))
		}
		told := answer.Topics[0].Partitions[0]
		next := nextOffset(told.RecordBatches, -1)
		if answer.Topics[0].TopicID != s.topicIDs[topic] || int(told.Partition) != partition ||
			next < 0 {
			return fmt.Errorf("poll after one append told partition %d", told.Partition)
		}
		s.advanced = &spot{topic, partition, next}
	}
	report(out, "change", times)
	return nil
}

// close ends the session as a client does: a sessionless fetch that names it.
func (s *session) close() error {
	req := s.request()
	req.SessionEpoch = -1
	_, err := s.conn.call(req)
	return err
}

func report(out result, name string, times []time.Duration) {
	slices.Sort(times)
	out[name+"_us"] = float64(times[len(times)/2]) / float64(time.Microsecond)
	out[name+"_p99_us"] = float64(times[(len(times)-1)*99/100]) / float64(time.Microsecond)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// residentBytes is the resident memory of a process, 0 when that cannot be read.
func residentBytes(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(text))[1])
	return float64(pages) * float64(os.Getpagesize())
}
