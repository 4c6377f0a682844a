resource "kafka_topic" "orders" {
  name               = "orders"
  replication_factr  = 1
}
