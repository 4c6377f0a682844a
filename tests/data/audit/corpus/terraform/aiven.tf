resource "aiven_kafka_topic" "t" {
  project    = var.project
  topic_name = "t"
  partitions = 5
  replication = 3
  config {
    min_insync_replicas = 2
    cleanup_policy      = "compact,delete"
  }
}
