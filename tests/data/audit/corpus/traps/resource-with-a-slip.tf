resource "aiven_kafka" "kafka1" {
  kafka_user_config {
    kafka {
      default_replication_factor = 3
    }
  }
}
resorce "aiven_kafka_topic" "orders" {
  topic_name  = "orders"
  partitions  = 3
  replication = 2
}
