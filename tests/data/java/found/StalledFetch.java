import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import kafka.cluster.DelayedOperations;
import kafka.cluster.Partition;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.requests.FetchRequest.PartitionData;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.metadata.PartitionRegistration;
import scala.Option;

/**
 * A fetch of broker 1 is read by leader 0 in epoch 0, and counted in epoch 2. What happens in between, where the thread that
 * handles the fetch holds no lock, is done by what it asks first when it counts: how many deletions are delayed.
 * Nothing of Kafka's is replaced that decides here: partition, replicas and log are the release's own.
 */
public final class StalledFetch {
    private static final TopicPartition NAME = new TopicPartition("records", 0);
    private static final int BYTES = 1 << 20;

    private final Partition partition;
    private Runnable meanwhile = () -> { };

    private StalledFetch() throws Exception {
        Properties settings = new Properties();
        settings.put("process.roles", "broker");
        settings.put("node.id", "0");
        settings.put("controller.quorum.voters", "9@localhost:9093");
        settings.put("controller.listener.names", "CONTROLLER");
        settings.put("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
        settings.put("log.dirs", Files.createTempDirectory("stalled-fetch").toString());
        DelayedOperations delayed = new DelayedOperations(Option.empty(), NAME, null, null, null, null) {
            @Override
            public int numDelayedDelete() {
                Runnable now = meanwhile;
                meanwhile = () -> { };
                now.run();
                return 0;
            }

            @Override
            public void checkAndCompleteAll() {
            }
        };
        Object brokers = Proxy.newProxyInstance(MetadataCache.class.getClassLoader(), new Class<?>[] {MetadataCache.class},
            (self, method, values) -> method.getReturnType() == Optional.class ? Optional.of(1L) : false);
        Class<?> asks = Partition.class.getConstructors()[0].getParameterTypes()[9];
        Object controller = Proxy.newProxyInstance(asks.getClassLoader(), new Class<?>[] {asks}, (self, method, values) -> {
            System.out.println("broker 0 asks for " + values[1]);
            return new CompletableFuture<>();
        });
        partition = Filled.made(Partition.class, NAME, 30000L, 0, delayed, brokers, controller,
            Option.apply(Uuid.METADATA_TOPIC_ID), Registered.logs(KafkaConfig.fromProps(settings)));
    }

    private void hears(String how, int leader, int epoch, int... isr) {
        try {
            Filled.call(partition, how, new PartitionRegistration.Builder().setReplicas(new int[] {0, 1, 2}).setIsr(isr)
                .setLeader(leader).setLeaderEpoch(epoch).setPartitionEpoch(epoch)
                .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
                .setDirectories(new Uuid[] {Uuid.ZERO_UUID, Uuid.ZERO_UUID, Uuid.ZERO_UUID}).build());
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    private void fetches(int follower, int epoch, long from) {
        try {
            Optional<Integer> last = from == 0 ? Optional.empty() : Optional.of(0);
            PartitionData asked =
                Filled.made(PartitionData.class, Uuid.ZERO_UUID, from, 0L, BYTES, Optional.of(epoch), last);
            Filled.call(partition, "fetchRecords", Registered.fetch(follower, BYTES), asked, System.currentTimeMillis(),
                BYTES, true, true);
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    private void says(String when) throws Exception {
        Object replica = ((Option<?>) Filled.call(partition, "getReplica", 1)).get();
        System.out.println(when + ": log end of 1 " + Filled.call(Filled.call(replica, "stateSnapshot"), "logEndOffset")
            + ", high watermark " + partition.localLogOrException().highWatermark());
    }

    /** Broker 0 hears of its second election alone; 1 has followed 2 in between, and its log is empty. */
    private static void commits() throws Exception {
        StalledFetch broker0 = new StalledFetch();
        broker0.hears("makeLeader", 0, 0, 0, 1, 2);
        Filled.call(broker0.partition, "appendRecordsToLeader", Registered.produced());
        broker0.meanwhile = () -> broker0.hears("makeLeader", 0, 2, 0, 1, 2);
        broker0.fetches(1, 0, 1);
        broker0.says("counted in epoch 2");
        broker0.fetches(2, 2, 1);
        broker0.says("2 has the record");
    }

    /** Broker 0 is deposed and elected again, and hears of both; 1 is out of the ISR then, and its log is empty. */
    private static void admits() throws Exception {
        StalledFetch broker0 = new StalledFetch();
        broker0.hears("makeLeader", 0, 0, 0, 1, 2);
        Filled.call(broker0.partition, "appendRecordsToLeader", Registered.produced());
        broker0.meanwhile = () -> {
            broker0.hears("makeFollower", 2, 1, 0, 1, 2);
            broker0.hears("makeLeader", 0, 2, 0, 2);
            broker0.fetches(2, 2, 1);
            broker0.fetches(1, 2, 0);
        };
        broker0.fetches(1, 0, 1);
        broker0.says("counted in epoch 2");
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("commits")) {
            commits();
        } else {
            admits();
        }
    }
}
