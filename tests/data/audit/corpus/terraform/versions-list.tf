resource "aws_msk_configuration" "prod" {
  kafka_versions    = ["3.5.1"]
  name              = "prod"
  server_properties = <<-PROPERTIES
    min.insync.replicas=2
    default.replication.factor=3
  PROPERTIES
}
