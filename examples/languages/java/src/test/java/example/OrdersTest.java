package example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import mockbroker.admin.ClockApi;
import mockbroker.admin.FaultsApi;
import mockbroker.admin.RecordsApi;
import mockbroker.admin.model.Advance;
import mockbroker.admin.model.FaultsIn;
import mockbroker.admin.model.RecordIn;
import mockbroker.admin.model.RecordsIn;
import mockbroker.admin.model.RecordsWanted;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class OrdersTest {
    @RegisterExtension
    static final Mockbroker broker = new Mockbroker();

    private KafkaProducer<String, String> producer() {
        return new KafkaProducer<>(
                Map.of("bootstrap.servers", broker.bootstrapServers()), new StringSerializer(), new StringSerializer());
    }

    @Test
    void anOrderIsRead() throws Exception {
        new RecordsApi(broker.client())
                .putRecords("orders", new RecordsIn().addRecordsItem(new RecordIn().key("7").value("lamp")));
        Map<String, Object> config = Map.of(
                "bootstrap.servers", broker.bootstrapServers(), "group.id", "billing", "auto.offset.reset", "earliest");
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("orders"));
            ConsumerRecord<String, String> record = null;
            while (record == null) {
                for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(200))) {
                    record = each;
                }
            }
            assertEquals("lamp", record.value());
        }
    }

    @Test
    void anInvoiceArrivesThoughTheLeaderIsElsewhereTwice() throws Exception {
        FaultsApi faults = new FaultsApi(broker.client());
        String rule = faults.armFaults(new FaultsIn()
                        .addRulesItem(Map.of("api", "Produce", "error", "NOT_LEADER_OR_FOLLOWER", "count", 2)))
                .getFaults().get(0).getId();
        try (KafkaProducer<String, String> producer = producer()) {
            producer.send(new ProducerRecord<>("invoices", "7", "250 EUR")).get();
        }
        new RecordsApi(broker.client()).waitForRecords("invoices", new RecordsWanted().count(1L));
        assertEquals(2L, faults.getFault(rule).getHits());
    }

    @Test
    void aWeekLaterTheOrdersAreGone() throws Exception {
        RecordsApi records = new RecordsApi(broker.client());
        records.putRecords("orders", new RecordsIn().addRecordsItem(new RecordIn().partition(0).value("lamp")));
        new ClockApi(broker.client()).advance(new Advance().ms(BigDecimal.valueOf(Duration.ofDays(8).toMillis())));
        assertEquals(0, records.readRecords("orders", null, null, null, null, null, null, null).getRecords().size());
    }
}
