resource "confluent_kafka_topic" "orders" {
  topic_name       = "orders"
  partitions_count = 4
  config = {
    "min.insync.replicas" : "2"
  }
  lifecycle {
    prevent_destroy = true
  }
}
