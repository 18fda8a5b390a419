#!/usr/bin/env python3
"""Adds the OCI layout to an archive of `docker save`.

Usage: archive.py FROM TO NAME:VERSION. TO is an OCI layout (oci-layout, index.json, blobs/sha256) with the
manifest.json that every `docker load` and `podman load` reads. OCI's tools would drop the health check, for
which OCI has no field; Docker reads it anyway. Equal images give equal bytes.
"""

import gzip
import hashlib
import io
import json
import sys
import tarfile


def digest(data):
    return hashlib.sha256(data).hexdigest()


def main(source, target, name):
    blobs = {}

    def blob(part):
        return "blobs/" + part["digest"].replace(":", "/")

    def keep(data, kind):
        blobs[digest(data)] = data
        return {"mediaType": kind, "digest": f"sha256:{digest(data)}", "size": len(data)}

    with tarfile.open(source) as archive:
        [image] = json.load(archive.extractfile("manifest.json"))
        config = archive.extractfile(image["Config"]).read()
        layers = [
            gzip.compress(archive.extractfile(layer).read(), mtime=0) for layer in image["Layers"]
        ]
    what = "application/vnd.oci.image"
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{what}.manifest.v1+json",
        "config": keep(config, f"{what}.config.v1+json"),
        "layers": [keep(layer, f"{what}.layer.v1.tar+gzip") for layer in layers],
    }
    entry = keep(json.dumps(manifest).encode(), f"{what}.manifest.v1+json")
    entry["annotations"] = {
        "org.opencontainers.image.ref.name": name.split(":")[-1],
        "io.containerd.image.name": name,
    }
    files = {f"blobs/sha256/{each}": data for each, data in blobs.items()}
    files["oci-layout"] = json.dumps({"imageLayoutVersion": "1.0.0"}).encode()
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    files["manifest.json"] = json.dumps(
        [
            {
                "Config": blob(manifest["config"]),
                "RepoTags": [name],
                "Layers": [blob(layer) for layer in manifest["layers"]],
            }
        ]
    ).encode()
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as archive:
        for path, data in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size = len(data)
            member.mode = 0o644
            archive.addfile(member, io.BytesIO(data))


main(*sys.argv[1:])
