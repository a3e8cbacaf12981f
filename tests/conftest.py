"""Fixtures for the black-box suites: a running broker and ways to ask it things."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))

from broker import Broker  # noqa: E402


@pytest.fixture(scope="module")
def file_broker():
    """One broker for a test file. What it leaves behind fails the file."""
    running = Broker().start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def broker(file_broker):
    return file_broker


# Every tier that a host with deploy/packages-run.txt offers.
TIERS = ["subprocess", "container", "userkernel"]


@pytest.fixture(scope="module", params=TIERS)
def tiered(request, file_broker):
    """(broker, tier): the file's broker, whose executions all take at least that tier."""
    answer = file_broker.get("/v1/host").json()["tiers"][request.param]
    assert answer["available"], answer["missing"]
    file_broker.defaults = {"min_tier": request.param}
    yield file_broker, request.param
    file_broker.defaults = {}


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
