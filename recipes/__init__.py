"""The recipes that ship with grpe-dgl, one YAML file each."""
