"""The settings that every C environment ships with."""

import pytest

from puffer_cli.config import load_config
from puffer_ocean import config_path, names


@pytest.mark.parametrize("name", names())
def test_the_shipped_settings_exist_and_fit(name):
    own = str(config_path(name))
    config = load_config(name)  # every key is known and every value in range, or it raises
    settings = {key for key, origin in config.origins.items() if origin == own}
    assert "train.total_timesteps" in settings
    assert any(key.startswith("env.") for key in settings)
