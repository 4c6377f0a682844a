resource "aws_msk_cluster" "main" {
  cluster_name           = "main"
  kafka_version          = "3.6.0"
  number_of_broker_nodes = 3
}

resource "aws_msk_configuration" "main" {
  kafka_versions = ["3.6.0"]
  name           = "main"

  server_properties = <<-PROPERTIES
    # unclean.leader.election.enable=true
    default.replication.factor=3
    min.insync.replicas=2
  PROPERTIES
}
