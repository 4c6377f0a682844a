resource "kafka_topic" "t" {
  for_each           = toset(["orders"])
  name               = each.key
  replication_factor = 1
  partitions         = 1
}
