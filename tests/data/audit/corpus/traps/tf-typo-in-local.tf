locals {
  rf = 3
}
resource "kafka_topic" "orders" {
  name               = "orders"
  replication_factor = local.rff
}
