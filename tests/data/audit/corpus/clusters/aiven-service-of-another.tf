resource "aiven_kafka" "eu" {
  kafka_user_config {
    kafka {
      min_insync_replicas = 2
    }
  }
}
resource "aiven_kafka_topic" "orders" {
  service_name = aiven_kafka.us.service_name
  topic_name   = "orders"
  replication  = 3
}
