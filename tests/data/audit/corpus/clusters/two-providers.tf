provider "kafka" {
  alias             = "eu"
  bootstrap_servers = [aws_msk_cluster.eu.bootstrap_brokers]
}
resource "aws_msk_configuration" "eu" {
  name              = "eu"
  server_properties = "min.insync.replicas=2"
}
resource "aws_msk_cluster" "eu" {
  kafka_version = "3.6.0"
  configuration_info {
    arn      = aws_msk_configuration.eu.arn
    revision = 1
  }
}
resource "kafka_topic" "here" {
  provider           = kafka.eu
  name               = "here"
  replication_factor = 3
}
resource "kafka_topic" "there" {
  provider           = kafka.us
  name               = "there"
  replication_factor = 3
}
