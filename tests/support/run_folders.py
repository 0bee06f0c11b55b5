"""Write run folders as `puffer train` leaves them."""

import json


def write_run(folder, settings, points, env="squared", torn=""):
    """A run folder; `points` are the lines of its log, `torn` is the start of one more."""
    folder.mkdir(parents=True)
    config = {key: {"value": value, "origin": "default"} for key, value in settings.items()}
    document = {"env": env, "run": folder.name, "config": config}
    (folder / "config.json").write_text(json.dumps(document))
    lines = "".join(json.dumps(point) + "\n" for point in points)
    (folder / "log.jsonl").write_text(lines + torn)
    return folder
