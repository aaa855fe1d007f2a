package mockbroker.pipeline;

import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** Gives a record the time that its last header of one name holds, and takes the header off. */
public class TimestampInterceptor implements ProducerInterceptor {
  public ProducerRecord onSend(ProducerRecord sent) {
    Header marked = sent.headers().lastHeader("mockbroker.timestamp");
    if (marked == null) {
      return sent;
    }
    Headers headers = new RecordHeaders(sent.headers().toArray());
    headers.remove("mockbroker.timestamp");
    Long timestamp = Long.valueOf(ByteBuffer.wrap(marked.value()).getLong());
    return new ProducerRecord(
        sent.topic(), sent.partition(), timestamp, sent.key(), sent.value(), headers);
  }

  public void onAcknowledgement(RecordMetadata metadata, Exception exception) {}

  public void close() {}

  public void configure(Map configs) {}
}
