import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import kafka.log.LogManager;
import kafka.server.KafkaConfig;
import kafka.server.RequestLocal;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.FetchParams;

/** What {@link StaleLogEnds} is told and asks, in the classes of 3.9. */
final class Registered {
    private Registered() {
    }

    static Object logs(KafkaConfig settings) throws Exception {
        return Filled.callOf(LogManager.class, null, "apply", settings);
    }

    static LeaderAndIsrPartitionState leader(int epoch) {
        List<Integer> all = Arrays.asList(0, 1, 2);
        return new LeaderAndIsrPartitionState().setReplicas(all).setIsr(all).setLeader(0).setLeaderEpoch(epoch)
            .setPartitionEpoch(epoch);
    }

    static Object[] produced() {
        MemoryRecords records = MemoryRecords.withRecords(Compression.NONE, new SimpleRecord("r0".getBytes()));
        return new Object[] {records, AppendOrigin.CLIENT, -1, RequestLocal.NoCaching()};
    }

    static FetchParams fetch(int follower, int bytes) {
        return new FetchParams((short) 17, follower, 1, 0, 1, bytes, FetchIsolation.LOG_END, Optional.empty());
    }
}
