resource "kafka_topic" "t" {
  for_each = {
    orders = { isr = 2 }
  }
  name               = "shop-${each.key}"
  replication_factor = 3
  partitions         = 1
  config = {
    "min.insync.replicas" = each.value.isr
  }
}
