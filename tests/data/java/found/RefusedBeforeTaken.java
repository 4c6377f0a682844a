import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Three consumers of a share group have records. While the write of the first one's acknowledgement waits for a replica that
 * stands still, the second acknowledges many records, whose write is larger than the coordinator's topic takes, and perhaps
 * the third one its own: these two writes are sent in one request. Says what became of each, and what is given once another
 * broker leads.
 */
public class RefusedBeforeTaken {
    private static final TopicPartition INPUT = new TopicPartition("input", 0);
    private static final String GROUP = "workers";
    private static final int MANY = 40;

    private final Properties shared = new Properties();
    private final String standsStill;

    /** Where to connect, the process of broker 2, the most bytes of a write, and whether the third consumer says something. */
    public static void main(String[] args) throws Exception {
        new RefusedBeforeTaken(args[0], args[1]).play(args[2], args[3].equals("accept"));
    }

    RefusedBeforeTaken(String bootstrap, String process) {
        standsStill = process;
        shared.put("bootstrap.servers", bootstrap);
        shared.put("key.serializer", StringSerializer.class);
        shared.put("value.serializer", StringSerializer.class);
        shared.put("key.deserializer", StringDeserializer.class);
        shared.put("value.deserializer", StringDeserializer.class);
        shared.put("group.id", GROUP);
        shared.put("share.acknowledgement.mode", "explicit");
    }

    private void play(String mostBytes, boolean thirdSpeaks) throws Exception {
        Map<String, String> settings = Map.of("cleanup.policy", "delete", "max.message.bytes", mostBytes);
        NewTopic state = new NewTopic("__share_group_state", Map.of(0, List.of(1, 2))).configs(settings);
        try (Admin admin = Admin.create(shared); KafkaProducer<String, String> producer = new KafkaProducer<>(shared)) {
            admin.createTopics(List.of(state, new NewTopic("input", Map.of(0, List.of(0, 1))))).all().get();
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, GROUP);
            ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
            admin.incrementalAlterConfigs(Map.of(group, List.of(new AlterConfigOp(earliest, AlterConfigOp.OpType.SET)))).all().get();
            try (
                KafkaShareConsumer<String, String> first = new KafkaShareConsumer<>(shared);
                KafkaShareConsumer<String, String> second = new KafkaShareConsumer<>(shared);
                KafkaShareConsumer<String, String> third = new KafkaShareConsumer<>(shared)
            ) {
                List<ConsumerRecord<String, String>> one = given(first, producer, "first", 1);
                List<ConsumerRecord<String, String>> many = given(second, producer, "second", MANY);
                List<ConsumerRecord<String, String>> other = given(third, producer, "third", 1);
                System.out.println("given: " + one.size() + ", " + many.size() + ", " + other.size());
                one.forEach(record -> first.acknowledge(record, AcknowledgeType.ACCEPT));
                many.forEach(record -> second.acknowledge(record, record.offset() % 2 == 0 ? AcknowledgeType.ACCEPT : AcknowledgeType.REJECT));
                other.forEach(record -> third.acknowledge(record, AcknowledgeType.ACCEPT));
                ExecutorService threads = Executors.newFixedThreadPool(3);
                signal("-STOP");
                List<Future<String>> outcomes = new ArrayList<>();
                try {
                    outcomes.add(threads.submit(() -> outcome(first)));
                    Thread.sleep(800);
                    outcomes.add(threads.submit(() -> outcome(second)));
                    Thread.sleep(800);
                    if (thirdSpeaks) {
                        outcomes.add(threads.submit(() -> outcome(third)));
                        Thread.sleep(800);
                    }
                } finally {
                    signal("-CONT");
                }
                for (int at = 0; at < outcomes.size(); at++) {
                    System.out.println(List.of("first", "second", "third").get(at) + ": " + outcomes.get(at).get());
                }
                threads.shutdown();
                move(admin);
            }
            producer.send(new ProducerRecord<>("input", "last")).get();
            try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(shared)) {
                consumer.subscribe(List.of("input"));
                List<String> since = new ArrayList<>();
                long until = System.currentTimeMillis() + 90_000;
                while (!since.contains("last") && System.currentTimeMillis() < until) {
                    consumer.poll(Duration.ofMillis(500)).forEach(record -> {
                        since.add(record.value());
                        consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                    });
                }
                System.out.println("given since: " + since);
            }
        }
    }

    /** So many records are written, each in a batch of its own, and a consumer is given them. */
    private List<ConsumerRecord<String, String>> given(
        KafkaShareConsumer<String, String> consumer, KafkaProducer<String, String> producer, String whose, int number
    ) throws Exception {
        for (int at = 0; at < number; at++) {
            producer.send(new ProducerRecord<>("input", whose)).get();
        }
        consumer.subscribe(List.of("input"));
        List<ConsumerRecord<String, String>> given = new ArrayList<>();
        while (given.isEmpty()) {
            consumer.poll(Duration.ofMillis(500)).forEach(given::add);
        }
        return given;
    }

    private static String outcome(KafkaShareConsumer<String, String> consumer) {
        return consumer.commitSync(Duration.ofSeconds(60)).values().stream()
            .map(failure -> failure.map(error -> error.getClass().getSimpleName()).orElse("taken")).toList().toString();
    }

    private void signal(String sign) throws IOException, InterruptedException {
        new ProcessBuilder("kill", sign, standsStill).inheritIO().start().waitFor();
    }

    private static void move(Admin admin) throws Exception {
        NewPartitionReassignment order = new NewPartitionReassignment(List.of(1, 0));
        admin.alterPartitionReassignments(Map.of(INPUT, Optional.of(order))).all().get();
        while (leader(admin) != 1) {
            try {
                admin.electLeaders(ElectionType.PREFERRED, Set.of(INPUT)).all().get();
            } catch (Exception error) {
                System.err.println(error);
            }
            Thread.sleep(200);
        }
    }

    private static int leader(Admin admin) throws Exception {
        return admin.describeTopics(List.of("input")).allTopicNames().get().get("input").partitions().get(0).leader().id();
    }
}
