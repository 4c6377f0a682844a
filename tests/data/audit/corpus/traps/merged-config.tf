resource "kafka_topic" "orders" {
  name               = "orders"
  replication_factor = 3
  config             = merge(local.defaults, { "min.insync.replicas" = "2" })
}
