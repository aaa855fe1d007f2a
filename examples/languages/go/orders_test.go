// Tests of a service with franz-go against a broker that runs beside them:
//
//	curl -so openapi.json http://localhost:9644/v1/openapi.json
//	go generate ./... && go test ./...
//
// MOCKBROKER_BOOTSTRAP and MOCKBROKER_ADMIN say where; by default as docker-compose.yml has it.
package orders

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"example/orders/admin"

	"github.com/twmb/franz-go/pkg/kgo"
)

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

var bootstrap = setting("MOCKBROKER_BOOTSTRAP", "localhost:9092")

// broker is reset before the test; the context ends with it.
func broker(t *testing.T) (context.Context, *admin.ClientWithResponses) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("MOCKBROKER_ADMIN_TOKEN"))
		return nil
	}
	client, err := admin.NewClientWithResponses(
		setting("MOCKBROKER_ADMIN", "http://localhost:9644"), admin.WithRequestEditorFn(authorize))
	check(t, err)
	done, err := client.ResetBrokerWithResponse(ctx)
	check(t, err)
	status(t, http.StatusNoContent, done.StatusCode(), done.Body)
	return ctx, client
}

func client(t *testing.T, options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(append(options, kgo.SeedBrokers(bootstrap))...)
	check(t, err)
	t.Cleanup(made.Close)
	return made
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func status(t *testing.T, wanted, got int, body []byte) {
	t.Helper()
	if got != wanted {
		t.Fatalf("status %d: %s", got, body)
	}
}

func put(t *testing.T, ctx context.Context, client *admin.ClientWithResponses, value any) {
	partition := int32(0)
	record := admin.RecordIn{Value: &value, Partition: &partition}
	done, err := client.PutRecordsWithResponse(ctx, "orders", admin.RecordsIn{Records: []admin.RecordIn{record}})
	check(t, err)
	status(t, http.StatusCreated, done.StatusCode(), done.Body)
}

func TestAnOrderIsRead(t *testing.T) {
	ctx, api := broker(t)
	put(t, ctx, api, "lamp")
	consumer := client(t, kgo.ConsumeTopics("orders"), kgo.ConsumerGroup("billing"))
	fetched := consumer.PollFetches(ctx)
	check(t, fetched.Err())
	if value := string(fetched.Records()[0].Value); value != "lamp" {
		t.Fatalf("read %q", value)
	}
}

func TestAnInvoiceArrivesThoughTheLeaderIsElsewhereTwice(t *testing.T) {
	ctx, api := broker(t)
	rule := map[string]any{"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "count": 2}
	armed, err := api.ArmFaultsWithResponse(ctx, admin.FaultsIn{Rules: []map[string]any{rule}})
	check(t, err)
	status(t, http.StatusCreated, armed.StatusCode(), armed.Body)
	producer := client(t)
	check(t, producer.ProduceSync(ctx, &kgo.Record{Topic: "invoices", Value: []byte("250 EUR")}).FirstErr())
	fault, err := api.GetFaultWithResponse(ctx, armed.JSON201.Faults[0].Id)
	check(t, err)
	if hits := fault.JSON200.Hits; hits != 2 {
		t.Fatalf("the rule fired %d times", hits)
	}
}

func TestAWeekLaterTheOrdersAreGone(t *testing.T) {
	ctx, api := broker(t)
	put(t, ctx, api, "lamp")
	_, err := api.AdvanceWithResponse(ctx, admin.Advance{Ms: float32((8 * 24 * time.Hour).Milliseconds())})
	check(t, err)
	left, err := api.ReadRecordsWithResponse(ctx, "orders", nil)
	check(t, err)
	if count := len(left.JSON200.Records); count != 0 {
		t.Fatalf("%d records are there", count)
	}
}
