import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

import com.yammer.metrics.core.MetricsRegistry;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEventProcessor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetrics;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetricsShard;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntimeMetrics;
import org.apache.kafka.coordinator.common.runtime.CoordinatorShard;
import org.apache.kafka.coordinator.common.runtime.CoordinatorShardBuilder;
import org.apache.kafka.coordinator.common.runtime.CoordinatorShardBuilderSupplier;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.common.runtime.Serializer;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

/**
 * A broker leads in epoch 1, follows in epoch 2 and leads in epoch 3 before any load has ended; then one of the two loads
 * ends, the first or, as the control, the second, and a group's offset is read. Says what the read is answered.
 */
public class ForeignLoad {
    private static final TopicPartition TP = new TopicPartition("__consumer_offsets", 0);

    private static class Offsets implements CoordinatorShard<String> {
        private final TimelineHashMap<String, String> offsets;

        Offsets(SnapshotRegistry registry) {
            offsets = new TimelineHashMap<>(registry, 0);
        }

        @Override
        public void replay(long offset, long producerId, short producerEpoch, String record) {
            offsets.put("group", record);
        }
    }

    private static class HeldLoader implements CoordinatorLoader<String> {
        final List<CompletableFuture<LoadSummary>> ends = new ArrayList<>();
        final List<CoordinatorPlayback<String>> playbacks = new ArrayList<>();

        @Override
        public CompletableFuture<LoadSummary> load(TopicPartition tp, CoordinatorPlayback<String> playback) {
            playbacks.add(playback);
            ends.add(new CompletableFuture<>());
            return ends.get(ends.size() - 1);
        }

        @Override
        public void close() {
        }
    }

    private static class NoMetrics extends CoordinatorMetrics {
        @Override
        public CoordinatorMetricsShard newMetricsShard(SnapshotRegistry registry, TopicPartition tp) {
            return null;
        }

        @Override
        public void activateMetricsShard(CoordinatorMetricsShard shard) {
        }

        @Override
        public void deactivateMetricsShard(CoordinatorMetricsShard shard) {
        }

        /** Asked for up to 4.2. */
        public MetricsRegistry registry() {
            return null;
        }

        @Override
        public void onUpdateLastCommittedOffset(TopicPartition tp, long offset) {
        }
    }

    @SuppressWarnings("unchecked")
    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler);
    }

    private static Object nothing(Object self, Method method, Object[] arguments) {
        Class<?> type = method.getReturnType();
        return type == boolean.class ? (Object) false : type == int.class ? (Object) 0 : type == long.class ? (Object) 0L : null;
    }

    private static Object logContext() throws ReflectiveOperationException {
        try {
            return Class.forName("org.apache.kafka.common.utils.LogContext").getConstructor().newInstance();
        } catch (ClassNotFoundException since44) {
            return Class.forName("org.apache.kafka.common.utils.internals.LogContext").getConstructor().newInstance();
        }
    }

    /** Events of one partition run one after the other; here in the thread that adds them. */
    private static Object atOnce(Object self, Method method, Object[] arguments) {
        if (method.getName().startsWith("enqueue")) {
            ((CoordinatorEvent) arguments[0]).run();
        }
        return null;
    }

    @SuppressWarnings("unchecked")
    private static CoordinatorRuntime<Offsets, String> runtime(HeldLoader loader) throws ReflectiveOperationException {
        SnapshotRegistry[] registry = new SnapshotRegistry[1];
        CoordinatorShardBuilderSupplier<Offsets, String> shards = () -> proxy(CoordinatorShardBuilder.class, (self, method, given) -> {
            if (method.getName().equals("withSnapshotRegistry")) {
                registry[0] = (SnapshotRegistry) given[0];
            }
            return method.getName().equals("build") ? new Offsets(registry[0]) : self;
        });
        Map<String, Object> parts = Map.ofEntries(
            Map.entry("withLogPrefix", ""),
            Map.entry("withLogContext", logContext()),
            Map.entry("withEventProcessor", proxy(CoordinatorEventProcessor.class, ForeignLoad::atOnce)),
            Map.entry("withPartitionWriter", proxy(PartitionWriter.class, ForeignLoad::nothing)),
            Map.entry("withLoader", loader),
            Map.entry("withCoordinatorShardBuilderSupplier", shards),
            Map.entry("withTime", Time.SYSTEM),
            Map.entry("withTimer", proxy(Timer.class, ForeignLoad::nothing)),
            Map.entry("withDefaultWriteTimeOut", Duration.ofSeconds(5)),
            Map.entry("withWriteTimeout", Duration.ofSeconds(5)),
            Map.entry("withCoordinatorRuntimeMetrics", proxy(CoordinatorRuntimeMetrics.class, ForeignLoad::nothing)),
            Map.entry("withCoordinatorMetrics", new NoMetrics()),
            Map.entry("withSerializer", proxy(Serializer.class, (self, method, given) -> new byte[1])),
            Map.entry("withCompression", Compression.NONE),
            Map.entry("withExecutorService", Executors.newSingleThreadExecutor()),
            Map.entry("withCachedBufferMaxBytesSupplier", (Supplier<Integer>) () -> 1 << 20)
        );
        Object builder = new CoordinatorRuntime.Builder<Offsets, String>();
        for (Method method : builder.getClass().getMethods()) {
            if (method.getName().equals("withAppendLingerMs")) {
                boolean isOptional = method.getParameterTypes()[0] == OptionalInt.class;
                method.invoke(builder, isOptional ? (Object) OptionalInt.of(0) : (Object) 0);
            } else if (parts.containsKey(method.getName())) {
                method.invoke(builder, parts.get(method.getName()));
            }
        }
        return ((CoordinatorRuntime.Builder<Offsets, String>) builder).build();
    }

    public static void main(String[] arguments) throws Exception {
        HeldLoader loader = new HeldLoader();
        CoordinatorRuntime<Offsets, String> runtime = runtime(loader);
        runtime.scheduleLoadOperation(TP, 1);
        runtime.scheduleUnloadOperation(TP, OptionalInt.of(2));
        runtime.scheduleLoadOperation(TP, 3);
        int ended = arguments[0].equals("first") ? 0 : 1;
        CoordinatorPlayback<String> playback = loader.playbacks.get(ended);
        playback.replay(0L, -1L, (short) -1, "offset 42");
        playback.updateLastWrittenOffset(1L);
        playback.updateLastCommittedOffset(1L);
        loader.ends.get(ended).complete(new CoordinatorLoader.LoadSummary(0, 1, 0, 1, 1));
        String answer;
        try {
            answer = runtime.scheduleReadOperation(
                "OffsetFetch", TP, (shard, committed) -> String.valueOf(shard.offsets.get("group", committed))
            ).get();
        } catch (ExecutionException refused) {
            answer = refused.getCause().getClass().getSimpleName();
        }
        System.out.println(loader.ends.size() + " loads; " + answer);
        System.exit(0);
    }
}
