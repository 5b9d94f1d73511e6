"""What `kubectl --kubeconfig PATH apply -f FILE` does, for machines without kubectl."""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.rest import load_config

parser = argparse.ArgumentParser()
parser.add_argument("--kubeconfig", required=True)
parser.add_argument("command", choices=["apply"])
parser.add_argument("-f", dest="file", type=Path, required=True)
options = parser.parse_args()
with Client(load_config(options.kubeconfig), field_manager="kubectl") as client:
    manifest = yaml.safe_load(options.file.read_text())
    applied = client.resource(ConfigMap).namespace("default").apply(manifest)
    print(f"configmap/{applied.metadata.name} created")
