# One topic.
resource "kafka_topic" "orders" {
  name               = "orders"
  replication_factor = 2
  partitions         = 6
  config = {
    "min.insync.replicas"            = "1"
    "unclean.leader.election.enable" = true
    # "min.insync.replicas" = "2"
    "retention.ms" = "604800000"
  }
}
