"""`puffer sweep`: settings.py says what is searched, driver.py runs trials, trial.py is one of them."""
