resource "kafka_topic" "orders" {
  name               = "orders"
  replication_factor = 3 // not 2
  config = {
    "unclean.leader.election.enable" = "true"
    /* "unclean.leader.election.enable" = "false"
       "min.insync.replicas" = "2" */
  }
}
