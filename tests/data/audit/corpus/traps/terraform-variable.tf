resource "kafka_topic" "orders" {
  for_each           = var.topics
  name               = each.key
  replication_factor = each.value.replicas
  config = {
    "min.insync.replicas" = "2"
  }
}
