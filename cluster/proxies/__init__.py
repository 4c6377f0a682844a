"""TCP proxies, one for every directed pair of nodes, with gates that hold single requests and responses."""
