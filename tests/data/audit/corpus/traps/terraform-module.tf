module "kafka" {
  source              = "./kafka"
  min_insync_replicas = 1
}
