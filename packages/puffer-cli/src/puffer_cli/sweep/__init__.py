"""`puffer sweep`: settings.py is what is searched, driver.py runs trials, trial.py is one."""
