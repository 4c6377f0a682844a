"""What runs in containers: services of docker-compose, resources of Kubernetes, values of Helm charts."""
