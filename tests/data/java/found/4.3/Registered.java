import java.util.Optional;
import kafka.log.LogManager;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.storage.internals.log.AppendOrigin;

/** What {@link StaleLogEnds} is told and asks, in the classes of 4.3 and 4.4. */
final class Registered {
    private Registered() {
    }

    static Object logs(KafkaConfig settings) throws Exception {
        return Filled.callOf(LogManager.class, null, "apply", settings);
    }

    static PartitionRegistration leader(int epoch) {
        int[] all = {0, 1, 2};
        return new PartitionRegistration.Builder().setReplicas(all).setIsr(all).setLeader(0).setLeaderEpoch(epoch)
            .setPartitionEpoch(epoch).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setDirectories(new Uuid[] {Uuid.ZERO_UUID, Uuid.ZERO_UUID, Uuid.ZERO_UUID}).build();
    }

    static Object[] produced() {
        MemoryRecords records = MemoryRecords.withRecords(Compression.NONE, new SimpleRecord("r0".getBytes()));
        return new Object[] {records, AppendOrigin.CLIENT, -1, RequestLocal.noCaching()};
    }

    static FetchParams fetch(int follower, int bytes) {
        return new FetchParams(follower, 1, 0, 1, bytes, FetchIsolation.LOG_END, Optional.empty());
    }
}
