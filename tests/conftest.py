"""Fixtures for the black-box suites: a running broker and ways to ask it things."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))

from broker import Broker  # noqa: E402


@pytest.fixture(scope="module")
def broker():
    """One broker for a test file. What it leaves behind fails the file."""
    running = Broker().start()
    yield running
    running.stop()


@pytest.fixture
def own_broker():
    """A factory for tests that need a broker of their own: own_broker(policy=…)."""
    started = []

    def start(**arguments):
        running = Broker(**arguments)
        started.append(running)
        return running.start()

    yield start
    for running in started:
        running.stop()
