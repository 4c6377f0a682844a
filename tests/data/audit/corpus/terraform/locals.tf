locals {
  rf      = 3
  min_isr = local.rf
}
resource "kafka_topic" "orders" {
  name               = "orders"
  replication_factor = local.rf
  partitions         = 12
  config = {
    "min.insync.replicas" = local.min_isr
  }
}
