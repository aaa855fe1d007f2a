package main

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// handshakes opens `count` connections one after the other, each with one request, and closes each.
// Then it opens `conns` that stay, and tells what one of them takes of the memory of process `pid`.
func handshakes(addr string, count, conns, pid int) (result, error) {
	request := kmsg.NewPtrApiVersionsRequest()
	open := func() (*conn, error) {
		c, err := dial(addr)
		if err != nil {
			return nil, err
		}
		return c, c.exchange(c.asking(versionsBytes, request))
	}
	start := time.Now()
	for range count {
		c, err := open()
		if err != nil {
			return nil, err
		}
		c.Close()
	}
	out := result{"per_s": float64(count) / time.Since(start).Seconds(), "requests": float64(count)}
	if pid == 0 {
		return out, nil
	}
	before := residentBytes(pid)
	for range conns {
		c, err := open()
		if err != nil {
			return nil, err
		}
		defer c.Close()
	}
	out["bytes_each"] = (residentBytes(pid) - before) / float64(conns)
	return out, nil
}
