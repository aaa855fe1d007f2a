package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// access is what client_config("franz-go") tells.
type access struct {
	SeedBrokers []string `json:"seed_brokers"`
	TLS         *struct {
		CA   string `json:"ca_cert_path"`
		Cert string `json:"client_cert_path"`
		Key  string `json:"client_key_path"`
	} `json:"tls"`
	SASL *struct {
		Method  string `json:"method"`
		User    string `json:"user"`
		Pass    string `json:"pass"`
		Token   string `json:"token"`
		IsToken bool   `json:"is_token"`
	} `json:"sasl"`
}

// connect has the options of a client for the access in a file.
func connect(file string) ([]kgo.Opt, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var a access
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, err
	}
	options := []kgo.Opt{kgo.SeedBrokers(a.SeedBrokers...)}
	if a.TLS != nil {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if a.TLS.CA != "" {
			ca, err := os.ReadFile(a.TLS.CA)
			if err != nil {
				return nil, err
			}
			config.RootCAs = x509.NewCertPool()
			config.RootCAs.AppendCertsFromPEM(ca)
		}
		if a.TLS.Cert != "" {
			shown, err := tls.LoadX509KeyPair(a.TLS.Cert, a.TLS.Key)
			if err != nil {
				return nil, err
			}
			config.Certificates = []tls.Certificate{shown}
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	if a.SASL == nil {
		return options, nil
	}
	switch a.SASL.Method {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: a.SASL.User, Pass: a.SASL.Pass}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: a.SASL.User, Pass: a.SASL.Pass, IsToken: a.SASL.IsToken}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: a.SASL.User, Pass: a.SASL.Pass, IsToken: a.SASL.IsToken}.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Auth{Token: a.SASL.Token}.AsMechanism()))
	default:
		return nil, fmt.Errorf("no mechanism %s", a.SASL.Method)
	}
	return options, nil
}
