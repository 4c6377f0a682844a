variable "kafka_version" {
  type    = string
  default = "3.6.0"
}
variable "min_isr" {
  default = 1
}
resource "aws_msk_configuration" "prod" {
  kafka_versions    = ["3.6.0"]
  name              = "prod"
  server_properties = <<PROPERTIES
default.replication.factor=3
min.insync.replicas=${var.min_isr}
PROPERTIES
}
resource "aws_msk_cluster" "prod" {
  cluster_name           = "prod"
  kafka_version          = var.kafka_version
  number_of_broker_nodes = 3
}
