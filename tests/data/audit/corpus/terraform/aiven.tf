resource "aiven_kafka" "kafka1" {
  project      = "p"
  plan         = "business-4"
  service_name = "kafka1"
  kafka_user_config {
    kafka_version = "3.7"
    kafka {
      default_replication_factor     = 3
      min_insync_replicas            = 1
      unclean_leader_election_enable = true
    }
  }
}
resource "aiven_kafka_topic" "orders" {
  project      = "p"
  service_name = aiven_kafka.kafka1.service_name
  topic_name   = "orders"
  partitions   = 3
  replication  = 2
}
