"""A driver of a study for test_study.py: asks for trials and runs each in a process of its own."""

import random
import subprocess
import sys
import time

from puffer_protein import Protein, Space, Study, log, uniform


def space():
    return Space({"steps": log(10, 1000, scale="time"), "x": uniform(0, 1)})


def make_tuner(study):
    return Protein(study.space, seed=study.settings["seed"], default=study.settings["default"])


def trial(path, number, attempt):
    study = Study(path)
    if not study.claim(int(number), int(attempt)):
        return
    values = study.trial(int(number)).values
    time.sleep(random.uniform(0.0, 0.05))
    cost = values["steps"] / 100
    study.tell(
        int(number), "done", values["x"] * cost, cost, [(values["steps"] / 2, 0.1, cost / 2)]
    )
    time.sleep(random.uniform(0.0, 0.02))


def driver(path, runs):
    study = Study(path)
    tuner = make_tuner(study)
    study.recover()
    while True:
        found = study.ask(tuner, runs)
        if found is None:
            running = study.trials("running")
            if not running:
                return
            time.sleep(0.05)
            study.recover()
            continue
        line = [sys.executable, __file__, "trial", path, str(found.id), str(found.attempt)]
        code = subprocess.run(line, check=False).returncode
        study.lost(found.id, f"exit code {code}", attempts=10**6)


if __name__ == "__main__":
    if sys.argv[1] == "trial":
        trial(*sys.argv[2:])
    else:
        driver(sys.argv[2], int(sys.argv[3]))
