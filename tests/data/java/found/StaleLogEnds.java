import java.nio.file.Files;
import java.util.Optional;
import java.util.Properties;
import kafka.cluster.Partition;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.requests.FetchRequest.PartitionData;
import scala.Option;

/**
 * Broker 0 leads a partition of three replicas, all of them in the ISR from beginning to end, and hears of its second
 * election without having heard that another led between. Nothing of Kafka's is replaced that decides here: partition,
 * replicas and log are the release's own.
 */
public final class StaleLogEnds {
    private static final TopicPartition NAME = new TopicPartition("records", 0);
    private static final int BYTES = 1 << 20;

    private final Partition partition;

    private StaleLogEnds() throws Exception {
        Properties settings = new Properties();
        settings.put("process.roles", "broker");
        settings.put("node.id", "0");
        settings.put("controller.quorum.voters", "9@localhost:9093");
        settings.put("controller.listener.names", "CONTROLLER");
        settings.put("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
        settings.put("log.dirs", Files.createTempDirectory("stale-log-ends").toString());
        partition = Filled.made(Partition.class, NAME, 30000L, 0, Registered.logs(KafkaConfig.fromProps(settings)));
    }

    private void leads(int epoch) throws Exception {
        Filled.call(partition, "makeLeader", Registered.leader(epoch));
    }

    private void appends() throws Exception {
        Filled.call(partition, "appendRecordsToLeader", Registered.produced());
    }

    private void fetches(int follower, int epoch, long from) throws Exception {
        Optional<Integer> last = from == 0 ? Optional.empty() : Optional.of(0);
        PartitionData asked = Filled.made(PartitionData.class, Uuid.ZERO_UUID, from, 0L, BYTES, Optional.of(epoch), last);
        Filled.call(partition, "fetchRecords", Registered.fetch(follower, BYTES), asked, System.currentTimeMillis(), BYTES,
            true, true);
    }

    private long remembered(int follower) throws Exception {
        Object replica = ((Option<?>) Filled.call(partition, "getReplica", follower)).get();
        return (long) Filled.call(Filled.call(replica, "stateSnapshot"), "logEndOffset");
    }

    private long highWatermark() {
        return partition.localLogOrException().highWatermark();
    }

    private void expect(String when, long expected) throws Exception {
        System.out.println(when + ": log end of 1 " + remembered(1) + ", of 2 " + remembered(2)
            + ", high watermark " + highWatermark());
        if (highWatermark() != expected) {
            throw new AssertionError("the high watermark is " + highWatermark() + ", expected " + expected);
        }
    }

    public static void main(String[] arguments) throws Exception {
        StaleLogEnds broker0 = new StaleLogEnds();
        broker0.leads(0);
        broker0.appends();
        broker0.fetches(1, 0, 1);
        broker0.expect("epoch 0, 1 has the record", 0);
        // Broker 2 leads in epoch 1 with an empty log, and 1 truncates. Broker 0 hears of epoch 2 only.
        broker0.leads(2);
        broker0.fetches(2, 2, 1);
        broker0.expect("epoch 2, 2 has the record and 1 has not fetched", 0);
        broker0.fetches(1, 2, 0);
        broker0.expect("epoch 2, 1 fetches from its own end", 0);
        broker0.fetches(1, 2, 1);
        broker0.expect("epoch 2, 1 has the record again", 1);
    }
}
