variable "kafka_version" {
  type = string
}
resource "aws_msk_configuration" "prod" {
  name              = "prod"
  server_properties = "min.insync.replicas=2"
}
resource "aws_msk_cluster" "prod" {
  kafka_version = var.kafka_version
}
