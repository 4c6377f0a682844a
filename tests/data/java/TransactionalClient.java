import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own producer, driven by lines on standard input: init, begin, send TOPIC VALUE, abort, commit.
 *
 * <p>Each command is answered by a line once it is done. What becomes of a record is a line of its own, as soon as the
 * client calls back. The arguments are a file with the producer's settings, and how many milliseconds a callback goes on.
 */
public final class TransactionalClient {
    private static long callbackMilliseconds;

    private TransactionalClient() {
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (FileInputStream file = new FileInputStream(arguments[0])) {
            settings.load(file);
        }
        callbackMilliseconds = Long.parseLong(arguments[1]);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (String line = commands.readLine(); line != null; line = commands.readLine()) {
                perform(producer, line.split(" "));
            }
        }
    }

    private static void perform(KafkaProducer<String, String> producer, String[] command) {
        try {
            switch (command[0]) {
                case "init": producer.initTransactions(); break;
                case "begin": producer.beginTransaction(); break;
                case "send": send(producer, command[1], command[2]); break;
                case "abort": producer.abortTransaction(); break;
                case "commit": producer.commitTransaction(); break;
                default: throw new IllegalArgumentException(command[0]);
            }
            say("done " + command[0]);
        } catch (RuntimeException error) {
            say("refused " + command[0] + " " + error);
        }
    }

    private static void send(KafkaProducer<String, String> producer, String topic, String value) {
        producer.send(new ProducerRecord<>(topic, 0, null, value), (where, error) -> {
            say(error == null ? "acknowledged " + value : "failed " + value + " " + error.getMessage().split(" ")[0]);
            try {
                Thread.sleep(callbackMilliseconds);
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        });
    }
}
