resource "kafka_topic" "a" {
  name               = "a"
  replication_factor = 3
  config = { "min.insync.replicas" = "2" }
}
resource "kafka_topic" "b" {
  name               = "b"
  replication_factor = 3
}
