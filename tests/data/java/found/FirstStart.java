import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;

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
 * A share group begins with what comes. Its consumer is given records and says nothing of them, or releases them once (the
 * control); then the leader changes. Says what was given before, what became of the acknowledgement, and what is given since.
 */
public class FirstStart {
    private static final TopicPartition INPUT = new TopicPartition("input", 0);
    private static final String GROUP = "workers";

    private final Properties shared = new Properties();
    private int written = 0;

    public static void main(String[] args) throws Exception {
        new FirstStart(args[0]).play(args[1].equals("release"));
    }

    FirstStart(String bootstrap) {
        shared.put("bootstrap.servers", bootstrap);
        shared.put("key.serializer", StringSerializer.class);
        shared.put("value.serializer", StringSerializer.class);
        shared.put("key.deserializer", StringDeserializer.class);
        shared.put("value.deserializer", StringDeserializer.class);
        shared.put("group.id", GROUP);
        shared.put("share.acknowledgement.mode", "explicit");
    }

    private void play(boolean releases) throws Exception {
        try (Admin admin = Admin.create(shared); KafkaProducer<String, String> producer = new KafkaProducer<>(shared)) {
            admin.createTopics(List.of(new NewTopic("input", Map.of(0, List.of(0, 1))))).all().get();
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, GROUP);
            ConfigEntry latest = new ConfigEntry("share.auto.offset.reset", "latest");
            admin.incrementalAlterConfigs(Map.of(group, List.of(new AlterConfigOp(latest, AlterConfigOp.OpType.SET)))).all().get();
            try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(shared)) {
                consumer.subscribe(List.of("input"));
                List<ConsumerRecord<String, String>> given = next(consumer, producer);
                if (releases) {
                    given.forEach(record -> consumer.acknowledge(record, AcknowledgeType.RELEASE));
                    System.out.println("released: " + outcome(consumer));
                    given = next(consumer, producer);
                }
                System.out.println("given: " + values(given));
                move(admin);
                given.forEach(record -> consumer.acknowledge(record, AcknowledgeType.ACCEPT));
                System.out.println("accepted: " + outcome(consumer));
            }
            try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(shared)) {
                consumer.subscribe(List.of("input"));
                List<String> since = new ArrayList<>();
                long until = System.currentTimeMillis() + 15_000;
                while (System.currentTimeMillis() < until) {
                    since.addAll(accept(consumer));
                }
                producer.send(new ProducerRecord<>("input", "last")).get();
                until = System.currentTimeMillis() + 60_000;
                while (!since.contains("last") && System.currentTimeMillis() < until) {
                    since.addAll(accept(consumer));
                }
                System.out.println("given since: " + since);
            }
        }
    }

    /** Records are written until the consumer is given some. */
    private List<ConsumerRecord<String, String>> next(
        KafkaShareConsumer<String, String> consumer, KafkaProducer<String, String> producer
    ) throws Exception {
        List<ConsumerRecord<String, String>> given = new ArrayList<>();
        while (given.isEmpty()) {
            producer.send(new ProducerRecord<>("input", "r" + written++)).get();
            consumer.poll(Duration.ofMillis(500)).forEach(given::add);
        }
        return given;
    }

    private static List<String> accept(KafkaShareConsumer<String, String> consumer) {
        List<String> given = new ArrayList<>();
        consumer.poll(Duration.ofMillis(500)).forEach(record -> {
            given.add(record.value());
            consumer.acknowledge(record, AcknowledgeType.ACCEPT);
        });
        return given;
    }

    private static String outcome(KafkaShareConsumer<String, String> consumer) {
        return consumer.commitSync(Duration.ofSeconds(30)).values().stream()
            .map(failure -> failure.map(error -> error.getClass().getSimpleName()).orElse("taken")).toList().toString();
    }

    private static List<String> values(List<ConsumerRecord<String, String>> records) {
        return records.stream().map(ConsumerRecord::value).toList();
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
