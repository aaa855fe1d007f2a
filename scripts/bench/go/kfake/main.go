// Command kfake serves franz-go's fake cluster on a fixed loopback port, as a peer to measure
// beside. It prints one line once clients may connect and ends on SIGTERM.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port := flag.Int("port", 0, "loopback port to listen on")
	pem := flag.String("pem", "", "file with a key and its certificate: connections are encrypted")
	flag.Parse()
	options := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.Ports(*port),
		kfake.AllowAutoTopicCreation(),
	}
	if *pem != "" {
		shown, err := tls.LoadX509KeyPair(*pem, *pem)
		if err != nil {
			fmt.Fprintln(os.Stderr, "kfake:", err)
			os.Exit(1)
		}
		options = append(options, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{shown}}))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kfake:", err)
		os.Exit(1)
	}
	defer cluster.Close()
	fmt.Printf("kfake ready bootstrap=%s pid=%d\n", cluster.ListenAddrs()[0], os.Getpid())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
}
