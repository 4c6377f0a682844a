package org.apache.kafka.clients.producer.internals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.MockClient;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.message.AddPartitionsToTxnResponseData;
import org.apache.kafka.common.message.EndTxnResponseData;
import org.apache.kafka.common.message.InitProducerIdResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.AddPartitionsToTxnResponse;
import org.apache.kafka.common.requests.EndTxnResponse;
import org.apache.kafka.common.requests.FindCoordinatorRequest;
import org.apache.kafka.common.requests.FindCoordinatorResponse;
import org.apache.kafka.common.requests.InitProducerIdResponse;
import org.apache.kafka.common.requests.RequestTestUtils;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;

/**
 * The parts of Kafka's producer that decide about producer epochs, on a network that is made up: every request is answered
 * but Produce.
 *
 * <p>Says under which producer epoch the transaction before was, and under which the next one is. The argument is "abort" if
 * the application aborts before the record's delivery.timeout.ms is over, "failure" if after it.
 */
public final class EpochAfterAbort {
    private static final TopicPartition PARTITION = new TopicPartition("records", 0);
    private static final Node NODE = new Node(0, "localhost", 9092);
    private static final int DELIVERY_MS = 3000;
    private static final int REQUEST_MS = 1000;
    private static final int WAITS_MS = 2500;

    private final MockTime time = new MockTime();
    private final LogContext log = new LogContext();
    private final ProducerMetadata metadata =
        new ProducerMetadata(0, 0, Long.MAX_VALUE, Long.MAX_VALUE, log, new ClusterResourceListeners(), time);
    private final MockClient client = new MockClient(time, metadata);
    private final ApiVersions versions = new ApiVersions();
    private final TransactionManager manager = new TransactionManager(log, "id", 60000, 100, versions);
    private final RecordAccumulator accumulator;
    private final Sender sender;
    private short epoch = 0;

    private EpochAfterAbort() {
        Metrics metrics = new Metrics(time);
        BufferPool pool = new BufferPool(1 << 20, 1 << 14, metrics, time, "pool");
        accumulator = new RecordAccumulator(log, 1 << 14, Compression.NONE, 0, 0, 0, DELIVERY_MS, metrics, "records", time,
            versions, manager, pool);
        sender = new Sender(log, client, metadata, accumulator, true, 1 << 20, (short) -1, Integer.MAX_VALUE,
            new SenderMetricsRegistry(metrics), time, REQUEST_MS, 50, manager, versions);
        versions.update("0", NodeApiVersions.create());
        metadata.add(PARTITION.topic(), time.milliseconds());
        client.updateMetadata(RequestTestUtils.metadataUpdateWith(1, Collections.singletonMap(PARTITION.topic(), 1)));
    }

    private AbstractResponse answer(ApiKeys api) {
        switch (api) {
            case FIND_COORDINATOR:
                return FindCoordinatorResponse.prepareResponse(Errors.NONE, "id", NODE);
            case INIT_PRODUCER_ID:
                return new InitProducerIdResponse(new InitProducerIdResponseData().setProducerId(1).setProducerEpoch(epoch++));
            case ADD_PARTITIONS_TO_TXN:
                return new AddPartitionsToTxnResponse(new AddPartitionsToTxnResponseData().setResultsByTopicV3AndBelow(
                    AddPartitionsToTxnResponse.resultForTransaction("id", Collections.singletonMap(PARTITION, Errors.NONE))
                        .topicResults()));
            case END_TXN:
                return new EndTxnResponse(new EndTxnResponseData());
            default:
                return null;
        }
    }

    private void run() {
        for (int turn = 0; turn < 10; turn++) {
            sender.runOnce();
            for (ClientRequest request : new ArrayList<>(client.requests())) {
                AbstractResponse answer = answer(request.apiKey());
                if (answer != null) {
                    client.respondToRequest(request, answer);
                }
            }
        }
    }

    private void play(boolean abortsFirst) throws Exception {
        TransactionalRequestResult initialised = manager.initializeTransactions();
        run();
        initialised.await();
        manager.beginTransaction();
        manager.maybeAddPartition(PARTITION);
        accumulator.append(PARTITION.topic(), 0, time.milliseconds(), null, new byte[1], null, null, 0, false,
            time.milliseconds(), metadata.fetch());
        time.sleep(WAITS_MS);
        run();
        short before = manager.producerIdAndEpoch().epoch;
        TransactionalRequestResult aborted = abortsFirst ? manager.beginAbort() : null;
        time.sleep(DELIVERY_MS - WAITS_MS + 1);
        run();
        if (aborted == null) {
            aborted = manager.beginAbort();
        }
        run();
        aborted.await();
        manager.beginTransaction();
        System.out.println(before + " " + manager.producerIdAndEpoch().epoch + " " + manager.sequenceNumber(PARTITION));
    }

    public static void main(String[] arguments) throws Exception {
        new EpochAfterAbort().play(Arrays.asList(arguments).contains("abort"));
    }
}
