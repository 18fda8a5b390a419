"""Starts TigerFans' web server, with its own accounting or another one: shop.py FOLDER NAME PORT.

No file in FOLDER is changed: the functions are replaced after the server's process has loaded them.
"""

import importlib
import os
import sys

folder, name, port = sys.argv[1:]
os.chdir(folder)
sys.path.insert(0, folder)

accounting = importlib.import_module("tigerfans.model.accounting")
if name != "theirs":
    ours = importlib.import_module(f"by_{name}")
    for function in [*accounting.__all__, "book_immediately"]:
        if hasattr(ours, function):
            setattr(accounting, function, getattr(ours, function))

uvicorn = importlib.import_module("uvicorn")
server = importlib.import_module("tigerfans.server")
uvicorn.run(server.app, host="127.0.0.1", port=int(port), access_log=False, log_level="error")
