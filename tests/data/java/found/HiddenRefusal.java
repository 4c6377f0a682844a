import java.lang.reflect.Constructor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntSupplier;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.CoordinatorLoadInProgressException;
import org.apache.kafka.common.message.WriteShareGroupStateRequestData;
import org.apache.kafka.common.message.WriteShareGroupStateResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.WriteShareGroupStateResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.share.ShareCoordinatorService;
import org.mockito.Mockito;

/**
 * Several writes about one partition in one request, each "refused" (for the coordinator loads) or "taken" by the runtime,
 * which is stood in for. Says what the share coordinator's own service answers, an error for each entry.
 */
public class HiddenRefusal {
    private static final Uuid TOPIC = new Uuid(1, 2);

    public static void main(String[] outcomes) throws Exception {
        Queue<CompletableFuture<?>> futures = new ArrayDeque<>();
        for (String outcome : outcomes) {
            futures.add(outcome.equals("taken")
                ? CompletableFuture.completedFuture(taken())
                : CompletableFuture.failedFuture(new CoordinatorLoadInProgressException("loads")));
        }
        CoordinatorRuntime<?, ?> runtime = Mockito.mock(CoordinatorRuntime.class, call ->
            call.getMethod().getName().equals("scheduleWriteOperation") ? futures.remove() : Mockito.RETURNS_DEFAULTS.answer(call));
        ShareCoordinatorService service = service(runtime);
        service.startup((IntSupplier) () -> 1);
        List<WriteShareGroupStateRequestData.PartitionData> writes = new ArrayList<>();
        for (int offset = 0; offset < outcomes.length; offset++) {
            writes.add(new WriteShareGroupStateRequestData.PartitionData().setPartition(0).setStateBatches(List.of(
                new WriteShareGroupStateRequestData.StateBatch().setFirstOffset(offset).setLastOffset(offset)
                    .setDeliveryState((byte) 2).setDeliveryCount((short) 1))));
        }
        WriteShareGroupStateResponseData answer = service.writeState(null, new WriteShareGroupStateRequestData()
            .setGroupId("workers").setTopics(List.of(
                new WriteShareGroupStateRequestData.WriteStateData().setTopicId(TOPIC).setPartitions(writes)))).get();
        List<String> errors = answer.results().stream().flatMap(topic -> topic.partitions().stream())
            .map(entry -> Errors.forCode(entry.errorCode()).name()).toList();
        System.out.println(String.join(" ", errors));
        System.exit(0);
    }

    private static WriteShareGroupStateResponseData taken() {
        return new WriteShareGroupStateResponseData().setResults(List.of(WriteShareGroupStateResponse.toResponseWriteStateResult(
            TOPIC, List.of(WriteShareGroupStateResponse.toResponsePartitionResult(0)))));
    }

    private static ShareCoordinatorService service(CoordinatorRuntime<?, ?> runtime) throws ReflectiveOperationException {
        Constructor<?> made = ShareCoordinatorService.class.getConstructors()[0];
        Object[] parts = Arrays.stream(made.getParameterTypes()).map(type -> part(type, runtime)).toArray();
        return (ShareCoordinatorService) made.newInstance(parts);
    }

    private static Object part(Class<?> type, CoordinatorRuntime<?, ?> runtime) {
        if (type.isInstance(runtime)) {
            return runtime;
        }
        if (type == Time.class) {
            return Time.SYSTEM;
        }
        try {
            return type.getSimpleName().equals("LogContext") ? type.getConstructor().newInstance() : Mockito.mock(type);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }
}
