import java.util.List;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * A partition of two replicas with min.insync.replicas=2 and eligible leader replicas is moved to broker 0 alone; then broker
 * 0 is killed, and comes back. The builder of partition changes is the release's own.
 */
public final class RemovedStaysEligible {
    private static final int MIN_ISR = 2;

    private PartitionRegistration partition = new PartitionRegistration.Builder().setReplicas(new int[] {0, 1})
        .setIsr(new int[] {0, 1}).setLeader(0).setLeaderEpoch(0).setPartitionEpoch(0)
        .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
        .setDirectories(new Uuid[] {Uuid.ZERO_UUID, Uuid.ZERO_UUID}).build();

    private PartitionChangeBuilder change(Set<Integer> alive) {
        int effective = Math.min(MIN_ISR, partition.replicas.length);  // As ReplicationControlManager.getTopicEffectiveMinIsr.
        return new PartitionChangeBuilder(partition, Uuid.ZERO_UUID, 0, alive::contains, MetadataVersion.latestProduction(),
            effective, true).setDefaultDirProvider(broker -> Uuid.ZERO_UUID);
    }

    private void becomes(String when, PartitionChangeBuilder change) {
        change.build().ifPresent(record -> partition = partition.merge((PartitionChangeRecord) record.message()));
        System.out.println(when + ": replicas " + Replicas.toList(partition.replicas) + ", ISR " + Replicas.toList(partition.isr)
            + ", ELR " + Replicas.toList(partition.elr) + ", last known leader " + Replicas.toList(partition.lastKnownElr)
            + ", leader " + partition.leader);
    }

    public static void main(String[] arguments) {
        RemovedStaysEligible controller = new RemovedStaysEligible();
        controller.becomes("moved", controller.change(Set.of(0, 1)).setTargetRemoving(List.of(1)));
        boolean isReplica = Replicas.toSet(controller.partition.replicas).containsAll(Replicas.toSet(controller.partition.elr));
        controller.becomes("killed", controller.change(Set.of(1)).setTargetIsr(List.of())
            .setUncleanShutdownReplicas(List.of(0)));
        controller.becomes("back", controller.change(Set.of(0, 1)));
        if (!isReplica) {
            throw new AssertionError("the ELR has a broker that is no replica");
        }
        if (controller.partition.leader != 0) {
            throw new AssertionError("the last known leader is back, and not elected");
        }
    }
}
