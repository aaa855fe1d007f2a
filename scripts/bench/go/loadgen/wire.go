package main

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is one raw Kafka connection: frames out, frames in, nothing hidden in between.
type conn struct {
	net.Conn
	in          *bufio.Reader
	correlation int32
	body        []byte
}

// overTLS: connections are encrypted. Whose certificate it is is not what is measured.
var overTLS bool

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		if err := tcp.SetNoDelay(true); err != nil {
			return nil, err
		}
	}
	if overTLS {
		encrypted := tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
		if err := encrypted.Handshake(); err != nil {
			return nil, err
		}
		c = encrypted
	}
	return &conn{Conn: c, in: bufio.NewReaderSize(c, 1<<17)}, nil
}

// echo: what is there is no broker, and has no topics.
var echo bool

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("loadgen"))

func (c *conn) frame(req kmsg.Request) []byte {
	c.correlation++
	return formatter.AppendRequest(nil, req, c.correlation)
}

// asking has the frame of a request with the bytes that an answer is wanted to have as its correlation id, by which
// what is no broker goes.
func (c *conn) asking(size int, req kmsg.Request) []byte {
	c.correlation = int32(size) - 1
	return c.frame(req)
}

// exchange sends one frame and reads the answer, whatever it says.
func (c *conn) exchange(frame []byte) error {
	if _, err := c.Write(frame); err != nil {
		return err
	}
	_, err := c.read()
	return err
}

// read returns one response without its length and correlation id; valid until the next read.
func (c *conn) read() ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(c.in, prefix[:]); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(prefix[:]))
	if cap(c.body) < size {
		c.body = make([]byte, size)
	}
	c.body = c.body[:size]
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return nil, err
	}
	return c.body[4:], nil
}

// call sends one request and decodes its answer.
func (c *conn) call(req kmsg.Request) (kmsg.Response, error) {
	if _, err := c.Write(c.frame(req)); err != nil {
		return nil, err
	}
	return c.decode(req)
}

func (c *conn) decode(req kmsg.Request) (kmsg.Response, error) {
	body, err := c.read()
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && resp.Key() != 18 {
		body = body[1:]
	}
	return resp, resp.ReadFrom(body)
}

func createTopic(addr, topic string) error {
	if echo {
		return nil
	}
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(5)
	req.TimeoutMillis = 10000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, 1, 1
	req.Topics = append(req.Topics, t)
	resp, err := c.call(req)
	if err != nil {
		return err
	}
	if code := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; code != 0 {
		return fmt.Errorf("create topic %s: error %d", topic, code)
	}
	return awaitLeader(c, topic)
}

func awaitLeader(c *conn, topic string) error {
	for range 200 {
		req := kmsg.NewPtrMetadataRequest()
		req.SetVersion(7)
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &topic
		req.Topics = append(req.Topics, t)
		resp, err := c.call(req)
		if err != nil {
			return err
		}
		topics := resp.(*kmsg.MetadataResponse).Topics
		if len(topics) == 1 && topics[0].ErrorCode == 0 && len(topics[0].Partitions) == 1 &&
			topics[0].Partitions[0].ErrorCode == 0 && topics[0].Partitions[0].Leader >= 0 {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("no leader for " + topic)
}

// batch builds one uncompressed batch of `count` records with values of `size` bytes.
func batch(count, size int) []byte {
	value := make([]byte, size)
	for i := range value {
		value[i] = byte('a' + i%26)
	}
	var records []byte
	for i := range count {
		record := []byte{0}
		record = binary.AppendVarint(record, 0)
		record = binary.AppendVarint(record, int64(i))
		record = binary.AppendVarint(record, -1)
		record = binary.AppendVarint(record, int64(size))
		record = append(record, value...)
		record = binary.AppendVarint(record, 0)
		records = binary.AppendVarint(records, int64(len(record)))
		records = append(records, record...)
	}
	now := time.Now().UnixMilli()
	rest := binary.BigEndian.AppendUint16(nil, 0)
	rest = binary.BigEndian.AppendUint32(rest, uint32(count-1))
	rest = binary.BigEndian.AppendUint64(rest, uint64(now))
	rest = binary.BigEndian.AppendUint64(rest, uint64(now))
	rest = binary.BigEndian.AppendUint64(rest, ^uint64(0))
	rest = binary.BigEndian.AppendUint16(rest, ^uint16(0))
	rest = binary.BigEndian.AppendUint32(rest, ^uint32(0))
	rest = binary.BigEndian.AppendUint32(rest, uint32(count))
	rest = append(rest, records...)
	out := make([]byte, 8)
	out = binary.BigEndian.AppendUint32(out, uint32(len(rest)+9))
	out = binary.BigEndian.AppendUint32(out, ^uint32(0))
	out = append(out, 2)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli)))
	return append(out, rest...)
}

func produceRequest(topic string, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9)
	req.Acks = 1
	req.TimeoutMillis = 10000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = records
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func fetchRequest(topic string, offset int64, maxWaitMillis int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(12)
	req.ReplicaID = -1
	req.MaxWaitMillis = maxWaitMillis
	req.MinBytes = 1
	req.MaxBytes = 50 << 20
	req.SessionEpoch = -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset = offset
	p.PartitionMaxBytes = 1 << 20
	p.CurrentLeaderEpoch = -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}
