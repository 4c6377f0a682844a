import java.util.Arrays;
import java.util.List;
import kafka.log.AppendOrigin;
import kafka.log.LogManager;
import kafka.server.FetchLogEnd$;
import kafka.server.FetchParams;
import kafka.server.KafkaConfig;
import kafka.server.RequestLocal;
import kafka.utils.KafkaScheduler;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import scala.Option;

/** What {@link StaleLogEnds} is told and asks, in the classes of 3.4. */
final class Registered {
    private Registered() {
    }

    static Object logs(KafkaConfig settings) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1, "log", true);
        scheduler.startup();
        return Filled.callOf(LogManager.class, null, "apply", settings, scheduler);
    }

    static LeaderAndIsrPartitionState leader(int epoch) {
        List<Integer> all = Arrays.asList(0, 1, 2);
        return new LeaderAndIsrPartitionState().setReplicas(all).setIsr(all).setLeader(0).setLeaderEpoch(epoch)
            .setPartitionEpoch(epoch);
    }

    static Object[] produced() {
        MemoryRecords records = MemoryRecords.withRecords(CompressionType.NONE, new SimpleRecord("r0".getBytes()));
        return new Object[] {records, AppendOrigin.Client$.MODULE$, -1, RequestLocal.NoCaching()};
    }

    static FetchParams fetch(int follower, int bytes) {
        return new FetchParams((short) 13, follower, 0, 1, bytes, FetchLogEnd$.MODULE$, Option.empty());
    }
}
